import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRoot, openToAll, projectRoot, World } from '../../../test/support/world.ts'
import { measureSteps, measureTree, type MeasureOptions } from './measure-tree.ts'
import { removeTree } from './remove-tree.ts'
import { runToEnd } from '../process/event-loop.ts'

/** The sums without the blocks, which depend on the file system. */
function measure(path: string, options?: MeasureOptions) {
  const { disk_bytes: _, ...size } = runToEnd(measureSteps(path, options))
  return size
}

test('files, directories and bytes of a tree are counted; a link is not followed', async () => {
  await using world = new World()
  const top = join(world.tmp, 'top')
  mkdirSync(join(top, 'a/b'), { recursive: true })
  writeFileSync(join(top, 'a/b/five'), '12345')
  writeFileSync(join(world.tmp, 'outside'), 'x'.repeat(1000))
  symlinkSync('..', join(top, 'l'))
  expect(measure(top)).toEqual({ files: 2, directories: 3, bytes: 7, unreadable: 0 })
  expect(measure(top, { skip: join(top, 'a') })).toEqual({
    files: 1,
    directories: 1,
    bytes: 2,
    unreadable: 0,
  })
  expect(measureTree(join(top, 'a/b/five'))).toMatchObject({ bytes: 5 })
  expect(measure(join(top, 'nothing'))).toEqual({ files: 0, directories: 0, bytes: 0, unreadable: 0 })
})

test('names that are not UTF-8 and paths longer than PATH_MAX are counted, too', async () => {
  await using world = new World()
  const top = join(world.tmp, 'tóp')
  mkdirSync(join(top, 'left-out'), { recursive: true })
  writeFileSync(join(top, 'left-out/x'), '1')
  mkdirSync(Buffer.from(`${world.tmp}/t\xc3\xb3p/\xff`, 'latin1'))
  writeFileSync(Buffer.from(`${world.tmp}/t\xc3\xb3p/\xff/\xfe`, 'latin1'), '12345')
  const script = `process.chdir(process.argv[1])
    for (let i = 0; i < 40; i++) {
      fs.mkdirSync('é'.repeat(100))
      process.chdir('é'.repeat(100))
      fs.writeFileSync('seven', '1234567')
    }`
  expect(await world.start(process.execPath, ['-e', script, top]).finished).toMatchObject({ code: 0 })
  const open = readdirSync('/proc/self/fd').length
  expect(measure(top, { skip: join(top, 'left-out') })).toEqual({
    files: 41,
    directories: 42,
    bytes: 285,
    unreadable: 0,
  })
  expect(measure(top, { enough: () => true }).files).toBeLessThanOrEqual(42)
  expect(readdirSync('/proc/self/fd').length).toBe(open)
  removeTree(top)
})

test('a caller that has seen enough stops the walk', async () => {
  await using world = new World()
  mkdirSync(join(world.tmp, 'many'))
  for (let i = 0; i < 1000; i++) writeFileSync(join(world.tmp, 'many', String(i)), '')
  const { files } = measure(join(world.tmp, 'many'), { enough: (sofar) => sofar.files > 10 })
  expect(files).toBeGreaterThan(10)
  expect(files).toBeLessThanOrEqual(256)
  expect(measure(join(world.tmp, 'many')).files).toBe(1000)
})

test('unreadable entries count as 0 bytes and are reported, without an error', async () => {
  await using world = new World({}, openToAll)
  for (const [name, mode] of [
    ['closed', 0o000],
    ['listable', 0o444],
    ['enterable', 0o111],
  ] as const) {
    mkdirSync(join(world.tmp, name))
    writeFileSync(join(world.tmp, name, 'file'), '12345')
    execFileSync('chmod', [mode.toString(8), join(world.tmp, name)])
  }
  execFileSync('chmod', ['755', world.tmp])
  const script = `import { measureSteps } from ${JSON.stringify(join(projectRoot, 'dist/base/fs/measure-tree.js'))}
    import { runToEnd } from ${JSON.stringify(join(projectRoot, 'dist/base/process/event-loop.js'))}
    console.log(JSON.stringify(runToEnd(measureSteps(process.argv[1]))))`
  const asOther = isRoot ? { uid: 65534, gid: 65534 } : {}
  const { stdout, stderr } = await world.start(
    process.execPath,
    ['--input-type=module', '-e', script, world.tmp],
    { cwd: '/', ...asOther },
  ).finished
  expect([JSON.parse(stdout), stderr]).toMatchObject([
    { files: 0, directories: 4, bytes: 0, unreadable: 3 },
    '',
  ])
  for (const name of ['closed', 'listable', 'enterable'])
    execFileSync('chmod', ['700', join(world.tmp, name)])
  rmSync(world.tmp, { recursive: true })
})
