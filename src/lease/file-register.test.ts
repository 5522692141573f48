import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dataOf, LockWorld } from '../../test/support/lock-world.ts'
import { stintBin, World } from '../../test/support/world.ts'
import { registerConformance } from '../testing/register-conformance.ts'
import { fileRegister, nodeFiles, type RegisterFiles } from './file-register.ts'
import type { Register } from './register.ts'

let world: World
let opened = 0
beforeAll(() => {
  world = new World()
})
afterAll(() => world[Symbol.asyncDispose]())

const directory = (): string => join(world.tmp, `locks-${(opened += 1)}`)
const namesOf = (path: string): string[] => readdirSync(join(path, 'k')).sort()
const entryOf = async (register: Register): Promise<[number, string | undefined]> => {
  const { epoch, text } = await register.read('k')
  return [epoch, text]
}

test.each(registerConformance(() => fileRegister(directory())))(
  'a register in files: $title',
  async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  },
)

test('a text is a file that cat shows, and only the newest is kept', async () => {
  const path = directory()
  const register = fileRegister(path)
  for (let epoch = 0; epoch < 20; epoch++) await register.swap('k', epoch, `text ${epoch}`)
  expect(namesOf(path)).toEqual(['20'])
  expect(readFileSync(join(path, 'k', '20'), 'utf8')).toBe('text 19')
})

test('a text of several megabytes is read back', async () => {
  const register = fileRegister(directory())
  const text = 'x'.repeat(3 << 20)
  expect(await register.swap('k', 0, text)).toBe(true)
  expect(await entryOf(register)).toEqual([1, text])
})

test('names that only look like an epoch are ignored, and a name that cannot be removed fails no swap', async () => {
  const path = directory()
  const register = fileRegister(path)
  await register.swap('k', 0, 'one')
  const names = ['007', '99999999999999999999', '9007199254740992', '-1', '1e3', '1.5', '.DS_Store', '0']
  for (const name of names) writeFileSync(join(path, 'k', name), 'other')
  expect(await entryOf(register)).toEqual([1, 'one'])
  mkdirSync(join(path, 'k', '2'))
  await expect(register.read('k')).rejects.toMatchObject({ code: 'EISDIR' })
  writeFileSync(join(path, 'k', '3'), 'three')
  expect(await register.swap('k', 3, 'four')).toBe(true)
  expect(namesOf(path)).toEqual(['2', '4', ...names].sort())
})

test('a planted epoch that has no successor is refused by name, and nothing is changed', async () => {
  const path = directory()
  const register = fileRegister(path)
  const last = '999999999999999'
  await register.swap('k', 0, 'one')
  writeFileSync(join(path, 'k', last), 'planted')
  await expect(register.swap('k', Number(last), 'two')).rejects.toMatchObject({
    code: 'HOME_UNSAFE',
    message: expect.stringContaining(join(path, 'k', last)) as string,
  })
  expect(namesOf(path)).toEqual(['1', last])
})

test('a writer that was suspended before its link loses, although its epoch was removed long ago', async () => {
  const path = directory()
  const fast = fileRegister(path)
  await fast.swap('k', 0, 'one')
  const suspended: RegisterFiles = {
    ...nodeFiles,
    async link(staged, name) {
      for (let epoch = 1; epoch < 5; epoch++) await fast.swap('k', epoch, `fast ${epoch}`)
      nodeFiles.link(staged, name)
    },
  }
  expect(await fileRegister(path, suspended).swap('k', 1, 'late')).toBe(false)
  expect(await entryOf(fast)).toEqual([5, 'fast 4'])
  expect(namesOf(path)).toEqual(['5'])
})

test('a reader that was suspended between its calls reads again', async () => {
  const path = directory()
  const register = fileRegister(path)
  await register.swap('k', 0, 'one')
  let reads = 0
  const suspended: RegisterFiles = {
    ...nodeFiles,
    async read(file) {
      reads += 1
      if (reads > 1) return nodeFiles.read(file)
      await register.swap('k', 1, 'two')
      // A writer that was suspended even longer creates the removed epoch again.
      writeFileSync(file, 'never on top')
      return nodeFiles.read(file)
    },
  }
  expect(await entryOf(fileRegister(path, suspended))).toEqual([2, 'two'])
})

test('a reader that knows an epoch lists its key once, and reads the text of any other', async () => {
  const path = directory()
  await fileRegister(path).swap('k', 0, 'one')
  const calls: string[] = []
  const noted: RegisterFiles = {
    ...nodeFiles,
    list: (name) => (calls.push('list'), nodeFiles.list(name)),
    read: (name) => (calls.push('read'), nodeFiles.read(name)),
  }
  expect(await fileRegister(path, noted).read('k', 1)).toMatchObject({ epoch: 1, text: undefined })
  expect(calls).toEqual(['list'])
  expect(await fileRegister(path, noted).read('k', 2)).toMatchObject({ epoch: 1, text: 'one' })
})

test('a writer that was killed leaves a staged file, which is in the way of no other', async () => {
  const path = directory()
  const register = fileRegister(path)
  const killed: RegisterFiles = {
    ...nodeFiles,
    link: () => new Promise(() => {}),
  }
  void fileRegister(path, killed).swap('k', 0, 'half')
  expect(await register.swap('k', 0, 'one')).toBe(true)
  expect(await entryOf(register)).toEqual([1, 'one'])
  expect(namesOf(path)).toHaveLength(2)
  expect(await register.keys()).toEqual(['k'])
})

test('an error of the system is no empty record, and leaves no staged file', async () => {
  const path = directory()
  const fails = (code: string) => (): never => {
    throw Object.assign(new Error(code), { code })
  }
  const register = fileRegister(path)
  await register.swap('k', 0, 'one')
  const broken = (files: Partial<RegisterFiles>) => fileRegister(path, { ...nodeFiles, ...files })
  await expect(broken({ read: fails('EMFILE') }).read('k')).rejects.toThrow('EMFILE')
  await expect(broken({ list: fails('EACCES') }).read('k')).rejects.toThrow('EACCES')
  await expect(broken({ link: fails('ENOSPC') }).swap('k', 1, 'two')).rejects.toThrow('ENOSPC')
  await expect(broken({ create: fails('ENOSPC') }).swap('k', 1, 'two')).rejects.toThrow('ENOSPC')
  for (const code of ['EPERM', 'ENOTSUP', 'EMLINK'])
    await expect(broken({ link: fails(code) }).swap('k', 1, 'two')).rejects.toMatchObject({
      code: 'LOCK_UNSUPPORTED',
    })
  expect(namesOf(path)).toEqual(['1'])
})

test('a watcher is called once for each new epoch, and not for what is staged or removed', async () => {
  const path = directory()
  const register = fileRegister(path)
  await register.swap('k', 0, 'one')
  let calls = 0
  const stop = register.watch('k', () => void (calls += 1))
  for (let epoch = 1; epoch < 4; epoch++) await register.swap('k', epoch, 'more')
  await expect.poll(() => calls).toBe(3)
  stop()
  expect(() => register.watch('none', () => {})).toThrow('ENOENT')
})

test('a key that a user has removed begins again', async () => {
  const path = directory()
  const register = fileRegister(path)
  await register.swap('k', 0, 'one')
  rmSync(join(path, 'k'), { recursive: true })
  expect(await entryOf(register)).toEqual([0, undefined])
  expect(await register.swap('k', 0, 'new')).toBe(true)
})

test('a full disk is an error with a code, and the lock is free when there is room again', async () => {
  await using full = new LockWorld()
  const script = `mount -t tmpfs -o size=16k,mode=0700 tmpfs "$STINT_HOME" && cd "$2" &&
    "$0" "$1" lock acquire --session a --json > /dev/null && head -c 100000 /dev/zero > "$STINT_HOME/filler"
    "$0" "$1" lock acquire --session a --purpose "$3" --json; rm "$STINT_HOME/filler"
    "$0" "$1" lock release --session a --json`
  mkdirSync(full.home, { mode: 0o700 })
  const args = ['-c', script, process.execPath, stintBin, full.workspace, 'p'.repeat(5000)]
  const { stdout } = await full.unshare(['--mount'], 'sh', args)
  const [refused, released] = stdout.trim().split('\n')
  expect(JSON.parse(refused ?? '')).toMatchObject({ error: { code: 'DISK_FULL' } })
  expect(JSON.parse(released ?? '')).toMatchObject({ data: { released: true } })
})

test('a home that cannot be written is an error that names it; who holds what can still be read', async () => {
  await using readOnly = new LockWorld()
  await readOnly.lock(['acquire', '--session', 'a'])
  const script = `mount --bind "$STINT_HOME" "$STINT_HOME" && mount -o remount,bind,ro "$STINT_HOME" && cd "$2" &&
    "$0" "$1" lock status --json; "$0" "$1" lock acquire --session b --wait 10ms --json; "$0" "$1" lock release --session a --json`
  const args = ['-c', script, process.execPath, stintBin, readOnly.workspace]
  const { stdout } = await readOnly.unshare(['--mount'], 'sh', args)
  const [status, refused, release] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { data: unknown; error: unknown })
  expect(status?.data).toMatchObject({ claims: [{ session_id: 'a' }] })
  expect(refused?.error).toMatchObject({ code: 'LOCK_HELD' })
  expect(release?.error).toMatchObject({ code: 'READ_ONLY' })
  expect(dataOf(await readOnly.lock(['release', '--session', 'a']))).toMatchObject({ released: true })
})
