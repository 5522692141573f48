import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { codeOf, useScratchWorld } from '../../test/support/scratch-world.ts'
import { isRoot, openToAll, World } from '../../test/support/world.ts'
import { parseTrackedRecord } from './tracked-record.ts'
import { identifyForTracking } from './tracked.ts'

const here = useScratchWorld()
afterEach(() => void vi.unstubAllEnvs())

/** Runs a program with these variables that tracks the given paths; returns those that were accepted. */
async function accepted(env: Record<string, string>, cwd: string, paths: string[]): Promise<string[]> {
  const { world } = here
  const library = JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))
  const program = `
    import { createScratch } from ${library}
    process.chdir(process.argv[1])
    const scratch = createScratch()
    for (const path of process.argv.slice(2)) {
      try { scratch.context('c').track(path); console.log(path) } catch (error) { if (error.code !== 'NAME_INVALID') throw error }
    }
    scratch.release()`
  const { stdout } = await world.start(
    process.execPath,
    ['--input-type=module', '-e', program, cwd, ...paths],
    { env },
  ).finished
  return stdout.split('\n').filter(Boolean)
}

test('homes, the root, the current directory and their parents are refused, however they are spelled', async () => {
  const { world, scratch } = here
  const [home, stintHome, project] = ['place/home', 'place/stint-home', 'place/project/src'].map((name) => {
    mkdirSync(join(world.tmp, name), { recursive: true })
    return join(world.tmp, name)
  }) as [string, string, string]
  const link = join(world.tmp, 'link')
  symlinkSync(join(world.tmp, 'place'), link)
  const env = { HOME: home, STINT_HOME: stintHome, STINT_TMP_ROOT: world.tmp }
  const refused = [
    home,
    stintHome,
    project,
    join(project, '..'),
    join(world.tmp, 'place'),
    world.tmp,
    '/',
    '.',
    '..',
    ...['home', 'stint-home', 'project', '../place'].map((name) => join(link, name)),
    world.root,
    scratch.path,
    join(world.root, 'trash'),
  ]
  expect(await accepted(env, project, refused)).toEqual([])
  const fine = [join(home, 'file'), join(link, 'other'), join(project, 'build'), link]
  expect(await accepted(env, project, fine)).toEqual(fine)
})

test('the home in the user database is refused, even if HOME names another directory', () => {
  const { world, scratch } = here
  vi.stubEnv('HOME', world.tmp)
  // Only identified: if `track` accepted it by mistake, the end of the test would delete it.
  expect(codeOf(() => identifyForTracking(userInfo().homedir, scratch.root))).toBe('NAME_INVALID')
})

test('a HOME that only this program sees is refused: it has replaced process.env', () => {
  const { world, scratch, outside } = here
  const home = dirname(outside('home/precious'))
  const { env } = process
  try {
    process.env = { ...env, HOME: home }
    expect(codeOf(() => scratch.track(home))).toBe('NAME_INVALID')
    expect(codeOf(() => scratch.track(`${home}/../home/`))).toBe('NAME_INVALID')
  } finally {
    process.env = env
  }
  expect(scratch.track(join(world.tmp, 'home/precious'))).toBe(join(home, 'precious'))
})

test('a bind mount does not hide that a path leads to a home', async () => {
  const { world, outside } = here
  const home = dirname(outside('place/users/home/precious'))
  mkdirSync(join(world.tmp, 'elsewhere'))
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const scratch = createScratch()
    for (const path of process.argv.slice(1))
      try { scratch.track(path); console.log('accepted') } catch (error) { console.log(error.code) }
    scratch.release()`
  const elsewhere = join(world.tmp, 'elsewhere')
  const { stdout } = await world.unshare(['--mount'], 'sh', [
    '-c',
    'mount --bind "$0" "$1" && HOME="$2" exec "$3" --input-type=module -e "$4" "$5" "$6"',
    join(world.tmp, 'place'),
    elsewhere,
    home,
    process.execPath,
    program,
    join(elsewhere, 'users/home'),
    join(elsewhere, 'users'),
  ])
  expect(stdout).toBe('NAME_INVALID\nNAME_INVALID\n')
})

test('a path tracked through a link is removed by its real path', () => {
  const { world, scratch, outside } = here
  mkdirSync(join(world.tmp, 'real'))
  symlinkSync(join(world.tmp, 'real'), join(world.tmp, 'link'))
  const file = outside('real/file')
  expect(scratch.track(join(world.tmp, 'link/file'))).toBe(file)
  scratch.remove()
  expect(existsSync(file)).toBe(false)
})

test('a link is tracked as a link: its target stays', () => {
  const { world, scratch, outside } = here
  const target = outside('target/file')
  symlinkSync(join(world.tmp, 'target'), join(world.tmp, 'link'))
  scratch.track(join(world.tmp, 'link'))
  expect(scratch.remove().failures).toEqual([])
  expect([existsSync(join(world.tmp, 'link')), existsSync(target)]).toEqual([false, true])
})

test('if another directory has replaced the parent, nothing in it is touched', () => {
  const { world, scratch, outside } = here
  const context = scratch.context('c')
  context.track(outside('parent/x/f').replace(/\/f$/, ''))
  const victim = outside('victim/x/f', 'precious')
  renameSync(join(world.tmp, 'parent'), join(world.tmp, 'moved'))
  symlinkSync(join(world.tmp, 'victim'), join(world.tmp, 'parent'))
  expect(context.clean().failures).toEqual([])
  expect(readFileSync(victim, 'utf8')).toBe('precious')
})

test('a link that has taken the place of a missing parent leads to nothing that is removed', () => {
  const { world, scratch, outside } = here
  const context = scratch.context('c')
  context.track(join(world.tmp, 'missing/inner/x'))
  context.track(join(world.tmp, 'made/inner/x'))
  const victim = outside('victim/inner/x', 'precious')
  symlinkSync(join(world.tmp, 'victim'), join(world.tmp, 'missing'))
  const made = outside('made/inner/x')
  expect(context.clean().failures).toEqual([])
  expect([readFileSync(victim, 'utf8'), existsSync(made)]).toEqual(['precious', false])
})

test('a parent that is gone or became a file is no error: the tracked path is gone', () => {
  const { world, scratch, outside } = here
  const context = scratch.context('c')
  context.track(outside('a/b'))
  context.track(outside('c/d'))
  rmSync(join(world.tmp, 'a'), { recursive: true })
  rmSync(join(world.tmp, 'c'), { recursive: true })
  writeFileSync(join(world.tmp, 'a'), '')
  expect(context.clean()).toMatchObject({ removed: 2, failures: [] })
})

test('a removal never goes through a mount, even if the path was tracked through a link', async () => {
  const { world, outside } = here
  const victim = outside('victim/precious')
  mkdirSync(join(world.tmp, 'real/dir/m'), { recursive: true })
  symlinkSync(join(world.tmp, 'real'), join(world.tmp, 'link'))
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const scratch = createScratch()
    scratch.track(process.argv[1])
    console.log(JSON.stringify(scratch.remove().failures))`
  const script = 'mount --bind "$0" "$1" && exec "$2" --input-type=module -e "$3" "$4"'
  const result = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    join(world.tmp, 'victim'),
    join(world.tmp, 'real/dir/m'),
    process.execPath,
    program,
    join(world.tmp, 'link/dir'),
  ])
  expect(JSON.parse(result.stdout)).toMatchObject([{ error: 'MOUNT_POINT' }])
  expect(existsSync(victim)).toBe(true)
})

test('the parent of a tracked path keeps its mode, even if it cannot be listed', async () => {
  await using world = new World({}, openToAll)
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
    mkdirSync('parent')
    writeFileSync('parent/file', '')
    const scratch = createScratch()
    scratch.track('parent/file')
    chmodSync('parent', 0o311)
    const { failures } = scratch.remove()
    console.log(JSON.stringify([failures, existsSync('parent/file'), statSync('parent').mode & 0o777]))`
  // As an ordinary user, because root has every permission.
  const as = isRoot ? { uid: 65534, gid: 65534 } : {}
  chmodSync(world.tmp, 0o777)
  const { stdout } = await world.start(process.execPath, ['--input-type=module', '-e', program], {
    cwd: world.tmp,
    ...as,
  }).finished
  expect(JSON.parse(stdout)).toEqual([[], false, 0o311])
})

test('a path tracked after a full disk has torn a line is on record', () => {
  const { world, scratch, outside } = here
  const [one, two] = [outside('one'), outside('two')]
  const record = join(world.root, 'tracked', scratch.requestId)
  mkdirSync(join(world.root, 'tracked'), { mode: 0o700 })
  writeFileSync(record, '{"path":"/torn')
  scratch.track(one)
  scratch.track(two)
  const { owners, tracked } = parseTrackedRecord(readFileSync(record, 'utf8').split('\n'))
  expect([owners.length, tracked.map(({ path }) => path)]).toEqual([1, [one, two]])
})

test('a removed scratch refuses to track paths', () => {
  const { world, scratch, outside } = here
  scratch.remove()
  expect(() => scratch.context('late').track(outside('late'))).toThrow('gone')
  expect(readdirSync(world.root)).not.toContain('tracked')
})

test('any record can be parsed, and yields only whole, absolute paths', () => {
  const line = fc.oneof(
    fc.string(),
    fc.json(),
    fc.anything().map((path) => JSON.stringify({ path }) ?? ''),
  )
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      for (const { path } of parseTrackedRecord(lines).tracked) {
        expect(path.startsWith('/')).toBe(true)
        expect(path).not.toContain('\0')
      }
    }),
  )
  expect(parseTrackedRecord(['{"path":"/a","file":null}', '{"path":"/torn']).tracked).toMatchObject([
    { path: '/a' },
  ])
})
