import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { codeOf, useScratchWorld } from '../../test/support/scratch-world.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { newRequestId } from '../base/text/id.ts'
import { sweep } from '../sweep/sweep.ts'
import { cleanupCommand } from './create-in.ts'
import { readOwner } from './owner.ts'
import { openRoot } from './root.ts'
import { createScratch } from './scratch.ts'
import { identifyForTracking } from './tracked.ts'

const here = useScratchWorld()
const mode = (path: string): number => statSync(path).mode & 0o777

test('files are 0600 and directories 0700; the directories of nested names are created', () => {
  const { scratch } = here
  const file = scratch.file('a/b/c.txt', 'text')
  expect(file).toBe(join(scratch.path, 'a/b/c.txt'))
  expect([readFileSync(file, 'utf8'), mode(file), mode(dirname(file))]).toEqual(['text', 0o600, 0o700])
  expect(mode(scratch.dir('d'))).toBe(0o700)
  expect(readFileSync(scratch.file('bytes', Buffer.from([1, 2, 3])))).toEqual(Buffer.from([1, 2, 3]))
})

test('files and directories without a given name get unique ones', () => {
  const { scratch } = here
  const paths = [scratch.file(), scratch.file(), scratch.dir(), scratch.dir()]
  expect(new Set(paths).size).toBe(4)
  for (const path of paths) expect(dirname(path)).toBe(scratch.path)
})

test.each([
  '',
  '.',
  '..',
  '../x',
  'a/../../x',
  '/etc/passwd',
  'a//b',
  'a/',
  '/',
  'a\0b',
  './x',
  `${'x'.repeat(256)}`,
])('the name %j is refused with NAME_INVALID, for files, directories and outputs', (name) => {
  const { scratch } = here
  expect(codeOf(() => scratch.file(name))).toBe('NAME_INVALID')
  expect(codeOf(() => scratch.dir(name))).toBe('NAME_INVALID')
  expect(codeOf(() => scratch.output(name))).toBe('NAME_INVALID')
})

test('an existing name is refused, not overwritten', () => {
  const { scratch } = here
  scratch.file('x', 'first')
  expect(codeOf(() => scratch.file('x', 'second'))).toBe('NAME_TAKEN')
  expect(codeOf(() => scratch.dir('x'))).toBe('NAME_TAKEN')
  expect(readFileSync(join(scratch.path, 'x'), 'utf8')).toBe('first')
})

test('a link inside the scratch cannot lead a new file out', () => {
  const { world, scratch } = here
  symlinkSync(world.tmp, join(scratch.path, 'out'))
  expect(codeOf(() => scratch.file('out/file'))).toBe('NAME_TAKEN')
  symlinkSync(join(world.tmp, 'target'), join(scratch.path, 'dangling'))
  expect(codeOf(() => scratch.file('dangling'))).toBe('NAME_TAKEN')
  expect(existsSync(join(world.tmp, 'target'))).toBe(false)
})

test('an output outlives the scratch, and its command removes it', async () => {
  const { world, scratch } = here
  const a = scratch.output('report.txt', { content: 'data' })
  const b = scratch.output('other.txt')
  const c = scratch.output('later.txt', { keepSeconds: 3600 })
  expect([dirname(a), mode(a), mode(dirname(a))]).toEqual([dirname(b), 0o600, 0o700])
  expect(dirname(c)).not.toBe(dirname(a))
  expect(basename(dirname(a))).toMatch(new RegExp(`^${scratch.requestId}-\\d+$`))
  scratch.remove()
  expect([a, b, c].map((path) => existsSync(path))).toEqual([true, true, true])
  await world.start('sh', ['-c', cleanupCommand(scratch.outputs)]).finished
  expect([a, b, c].map((path) => existsSync(path))).toEqual([false, false, false])
  expect(codeOf(() => scratch.output('x', { keepSeconds: -1 }))).toBe('ARG_ERROR')
})

test('the time to keep an output counts from the end of the scratch', async () => {
  const { root } = here.scratch
  let now = Date.now()
  const clock = { now: () => now, mono: () => 0 }
  const scratch = createScratch({ root, clock })
  const output = scratch.output('report.txt', { keepSeconds: 60 })
  now += 600_000
  scratch.remove()
  now += 59_000
  await sweep({ root, clock })
  expect(existsSync(output)).toBe(true)
  now += 2000
  await sweep({ root, clock })
  expect(existsSync(output)).toBe(false)
})

test('the cleanup command is safe in a shell, whatever the path', () => {
  expect(cleanupCommand([{ path: `/tmp/it's $(here)/x`, keepSeconds: 1 }])).toBe(
    `rm -rf -- '/tmp/it'\\''s $(here)/x'`,
  )
})

test('tracked paths are removed with the scratch; protected directories are refused', () => {
  const { world, scratch } = here
  const file = join(world.tmp, 'elsewhere')
  writeFileSync(file, '')
  expect(scratch.track(file)).toBe(file)
  const home = join(world.tmp, 'above/home')
  mkdirSync(home, { recursive: true })
  vi.stubEnv('HOME', home)
  for (const path of ['', home, dirname(home), scratch.path, world.root])
    expect(
      codeOf(() => scratch.track(path)),
      path,
    ).toBe('NAME_INVALID')
  vi.unstubAllEnvs()
  // These are only identified: if `track` accepted them by mistake, the end of the test would delete them.
  for (const path of ['/', homedir(), dirname(homedir()), process.cwd()])
    expect(
      codeOf(() => identifyForTracking(path, scratch.root)),
      path,
    ).toBe('NAME_INVALID')
  expect(scratch.remove().failures).toEqual([])
  expect([existsSync(file), existsSync(scratch.path)]).toEqual([false, false])
})

test('an invalid request id and an existing one are refused', () => {
  const { scratch } = here
  const make = (requestId: string) => codeOf(() => createScratch({ root: scratch.root, requestId }))
  for (const id of ['', '../../outside', 'req_x', `${newRequestId()}/..`]) expect(make(id)).toBe('ARG_ERROR')
  expect(make(scratch.requestId)).toBe('NAME_TAKEN')
  expect(readdirSync(scratch.root.runs)).toEqual([scratch.requestId, `${scratch.requestId}.owner`])
})

test('a scratch removed by another process is an error when it is used, but not when it is removed', () => {
  const { scratch, world } = here
  rmSync(world.root, { recursive: true })
  expect(codeOf(() => scratch.file('x'))).toBe('NOT_FOUND')
  expect(codeOf(() => scratch.dir())).toBe('NOT_FOUND')
  const unused = createScratch({ root: openRoot({ STINT_TMP_ROOT: world.tmp }) })
  rmSync(world.root, { recursive: true })
  for (const each of [scratch, unused]) expect(each.remove()).toMatchObject({ failures: [] })
})

test('a scratch can be removed twice; a disposed one is gone', async () => {
  const { scratch } = here
  let path: string
  {
    await using other = createScratch({ root: scratch.root })
    path = other.path
    expect(existsSync(path)).toBe(true)
  }
  expect(existsSync(path)).toBe(false)
  {
    using other = createScratch({ root: scratch.root })
    path = other.path
  }
  expect(existsSync(path)).toBe(false)
  expect(scratch.remove().removed).toBeGreaterThan(0)
  expect(scratch.remove()).toEqual({ removed: 0, bytes: 0, disk_bytes: 0, failures: [], complete: true })
})

test('the exit of a process removes the scratches it forgot', async () => {
  const { world, scratch } = here
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    console.log(createScratch().file('x', 'y'))`
  const { stdout, code } = await world.start(process.execPath, ['--input-type=module', '-e', program])
    .finished
  expect(code).toBe(0)
  expect(stdout).toContain(world.root)
  expect(existsSync(stdout.trim())).toBe(false)
  expect(world.leftovers()).toEqual([scratch.requestId])
})

test('the owner record names the run and its process', () => {
  const { scratch } = here
  expect(readOwner(scratch.path)).toMatchObject({ identity: ownIdentity(), keep: 'never', command: null })
})
