import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { grow } from '../../../test/support/grow.ts'
import { startSwapper } from '../../../test/support/swapper.ts'
import { stintBin, unprivileged, World } from '../../../test/support/world.ts'
import { measureTree } from './measure-tree.ts'
import { removalSteps, removeTree } from './remove-tree.ts'
import { runInTurns } from '../process/event-loop.ts'

test('a whole tree is removed and counted', async () => {
  await using world = new World()
  const inTurns: typeof removeTree = (path, options = {}) => runInTurns(removalSteps(path, options)) as never
  for (const remove of [removeTree, inTurns]) {
    const path = join(world.tmp, 'tree')
    const entries = grow(path, 4, 3)
    const measured = measureTree(path)
    expect(measured.bytes).toBe((entries / 2) * 4)
    expect(await remove(path, { measure: true })).toEqual({
      removed: entries,
      ...measured,
      failures: [],
      complete: true,
    })
    expect(existsSync(path)).toBe(false)
  }
})

test('a missing path is not a failure; a file or a link is removed alone', async () => {
  await using world = new World()
  const target = join(world.tmp, 'target')
  const link = join(world.tmp, 'link')
  grow(target, 0, 0)
  symlinkSync(target, link)
  expect(removeTree(join(world.tmp, 'missing'))).toEqual({
    removed: 0,
    bytes: 0,
    disk_bytes: 0,
    failures: [],
    complete: true,
  })
  expect(removeTree(link)).toMatchObject({ removed: 1, failures: [] })
  expect(readdirSync(target)).toEqual(['file'])
  expect(removeTree(join(target, 'file'))).toMatchObject({ removed: 1, failures: [] })
})

test('a tree deeper than PATH_MAX is removed, without a descriptor for every level', async () => {
  await using world = new World()
  const dig = `
    const fs = require('node:fs')
    for (const name of ['tree', ...Array(300).fill('quite-a-long-directory-name')]) { fs.mkdirSync(name); process.chdir(name) }`
  expect((await world.start(process.execPath, ['-e', dig], { cwd: world.tmp }).finished).code).toBe(0)
  expect(removeTree(join(world.tmp, 'tree'))).toMatchObject({ removed: 301, failures: [] })
  expect(readdirSync(world.tmp)).toEqual([])
})

test('removal stops at the limit and leaves the rest', async () => {
  await using world = new World()
  const path = join(world.tmp, 'tree')
  const entries = grow(path, 4, 3)
  expect(removeTree(path, { limit: 50 })).toMatchObject({ complete: false, failures: [] })
  expect(existsSync(path)).toBe(true)
  expect(removeTree(path, { limit: entries })).toMatchObject({ complete: true })
  expect(existsSync(path)).toBe(false)
})

test('own directories without permissions are removed', async () => {
  await using world = new World()
  chmodSync(world.tmp, 0o777)
  // As a user without root's privileges, which override permissions.
  const script = `mkdir -p tree/a/b tree/c && touch tree/a/f tree/a/b/g tree/c/h && chmod 0 tree/a/b && chmod 500 tree/c tree/a && chmod 0 tree/a`
  const code = `
    const { removeTree } = await import(${JSON.stringify(join(stintBin, '../../base/fs/remove-tree.js'))})
    process.stdout.write(JSON.stringify(removeTree('tree')))`
  await world.start('sh', ['-c', script], { cwd: world.tmp, ...unprivileged }).finished
  const removed = await world.start(process.execPath, ['--input-type=module', '-e', code], {
    cwd: world.tmp,
    ...unprivileged,
  }).finished
  expect(JSON.parse(removed.stdout)).toEqual({
    removed: 7,
    bytes: 0,
    disk_bytes: 0,
    failures: [],
    complete: true,
  })
  expect(existsSync(join(world.tmp, 'tree'))).toBe(false)
})

test('a file that cannot be deleted is reported, and everything else is removed', async () => {
  await using world = new World()
  const path = join(world.tmp, 'tree')
  grow(path, 2, 3)
  const stuck = join(path, 'd1', 'd2', 'file')
  const script = `mount --bind "$0" "$0" && "$1" --input-type=module -e "$2" "$3"`
  const code = `
    const { removeTree } = await import(${JSON.stringify(join(stintBin, '../../base/fs/remove-tree.js'))})
    process.stdout.write(JSON.stringify(removeTree(process.argv[1])))`
  const { stdout } = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    stuck,
    process.execPath,
    code,
    path,
  ])
  expect(JSON.parse(stdout)).toMatchObject({ failures: [{ path: stuck, type: 'file', error: 'EBUSY' }] })
  expect(readdirSync(path, { recursive: true })).toEqual(['d1', 'd1/d2', 'd1/d2/file'])
})

test('another file system mounted in the tree is left alone and reported', async () => {
  await using world = new World()
  const path = join(world.tmp, 'tree')
  grow(path, 1, 2)
  const script = `mount -t tmpfs tmpfs "$0/d1" && touch "$0/d1/precious" && "$1" --input-type=module -e "$2" "$0"; ls "$0/d1"`
  const code = `
    const { removeTree } = await import(${JSON.stringify(join(stintBin, '../../base/fs/remove-tree.js'))})
    process.stdout.write(JSON.stringify(removeTree(process.argv[1])) + '\\n')`
  const { stdout } = await world.unshare(['--mount'], 'sh', ['-c', script, path, process.execPath, code])
  const [removal = '', listing] = stdout.trim().split('\n')
  expect(JSON.parse(removal)).toMatchObject({ failures: [{ path: join(path, 'd1'), type: 'directory' }] })
  expect(listing).toBe('precious')
})

test('an attacker who swaps directories for links cannot lead the removal out of its tree', async () => {
  await using world = new World()
  const outside = join(world.tmp, 'outside')
  mkdirSync(outside)
  for (let i = 0; i < 20; i++) writeFileSync(join(outside, `precious-${i}`), 'x')
  const field = join(world.tmp, 'field')
  const [path, fresh] = [join(field, 'tree'), join(world.tmp, 'fresh')]
  mkdirSync(field)
  await using attacker = startSwapper(world, { places: [field], outside })
  let removed = 0
  while (removed < 200 || attacker.swaps() < 50) {
    await new Promise(setImmediate)
    if (!existsSync(path)) {
      grow(fresh, 1, 4)
      try {
        renameSync(fresh, path)
      } catch {
        // The attacker has just restored the directory, or put a link in its place.
      }
    }
    removeTree(fresh)
    removed += removeTree(path).removed
  }
  await attacker.stop()
  expect(readdirSync(outside)).toHaveLength(20)
})

test('a directory that is refilled while it is emptied does not stop the removal of the rest', async () => {
  await using world = new World()
  const path = join(world.tmp, 'tree')
  grow(path, 3, 3)
  const writer = world.start('sh', [
    '-c',
    'while [ -d "$0" ]; do : > "$0/d0/late-$$-$((n+=1))" || :; done 2>/dev/null',
    path,
  ])
  for (let tries = 0; existsSync(path) && tries < 1000; tries++) removeTree(path)
  expect(existsSync(path)).toBe(false)
  await writer.finished
})
