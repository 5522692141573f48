import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isRoot, World } from '../../../test/support/world.ts'
import {
  type Identity,
  identify,
  judge,
  liveness,
  ownIdentity,
  parseIdentity,
  type Sighting,
} from './liveness.ts'
import { type Machine, parseProcessStat, thisMachine } from './platform.ts'

const here: Machine = { boot: 'boot-1', host: 'host-1', pidns: '1', timens: '2' }
const them: Identity = { pid: 42, started: 1000, ...here }
const running = (state = 'S', threads = 1, started = 1000): (() => Sighting) => {
  return () => ({ stat: { pid: 42, ppid: 1, name: 'sh', state, threads, started } })
}
const nobody = (): Sighting => ({ exists: false })
const unasked = (): never => {
  throw new Error('the process table must not decide this')
}

test('this process is alive, and a process that has ended is dead', async () => {
  await using world = new World()
  expect(liveness(ownIdentity())).toBe('alive')
  const child = world.start('sleep', ['300'])
  const identity = identify(child.pid)
  expect(identity && liveness(identity)).toBe('alive')
  child.child.kill('SIGKILL')
  await child.finished
  expect(identity && liveness(identity)).toBe('dead')
  expect(identify(child.pid)).toBeUndefined()
})

test('a process of another user is alive', async () => {
  await using world = new World()
  const theirs = isRoot ? world.start('sleep', ['300'], { uid: 65534 }).pid : 1
  const identity = identify(theirs)
  expect(identity && liveness(identity)).toBe('alive')
})

test.each([
  ['another host', { host: 'host-2' }, unasked, 'unknown'],
  ['another host with the same boot id', { host: 'host-2', boot: 'boot-1' }, unasked, 'unknown'],
  ['another boot of this host', { boot: 'boot-0' }, unasked, 'dead'],
  ['another boot, no machine-id', { boot: 'boot-0', host: '' }, unasked, 'unknown'],
  ['a record whose boot could not be read', { boot: '' }, unasked, 'unknown'],
  ['this boot, no machine-id', { host: '' }, running(), 'alive'],
  ['another pid namespace', { pidns: '9' }, unasked, 'unknown'],
  ['another time namespace', { timens: '9' }, unasked, 'unknown'],
  ['no such pid', {}, nobody, 'dead'],
  ['a pid that may not be seen', {}, () => ({ exists: true }), 'alive'],
  ['a reused pid', {}, running('S', 1, 2000), 'dead'],
  ['a record without a start time', { started: null }, running('S', 1, 2000), 'alive'],
  ['killed, not yet reaped', {}, running('Z', 1), 'dead'],
  ['killed, being reaped', {}, running('X', 0), 'dead'],
  ['a zombie main thread whose other threads run', {}, running('Z', 3), 'alive'],
  ['stopped', {}, running('T'), 'alive'],
] as [string, Partial<Identity>, (pid: number) => Sighting, string][])('%s', (_, differs, look, verdict) => {
  expect(judge({ ...them, ...differs }, here, look)).toBe(verdict)
})

test('a machine whose boot could not be read knows nothing of processes that recorded theirs', () => {
  expect(judge(them, { ...here, boot: '' }, unasked)).toBe('unknown')
})

test('where no process can read a boot id, the process table decides', () => {
  const bootless = { ...here, boot: '' }
  expect(judge({ ...them, boot: '' }, bootless, running())).toBe('alive')
  expect(judge({ ...them, boot: '' }, bootless, nobody)).toBe('dead')
})

test('a process that had no file descriptor left to read the boot id reads it again', async () => {
  await using world = new World()
  const script = `
    import { closeSync, openSync } from 'node:fs'
    import { thisMachine } from ${JSON.stringify(join(import.meta.dirname, '../../../dist/base/process/platform.js'))}
    const open = []
    try { for (;;) open.push(openSync('/dev/null')) } catch {}
    const without = thisMachine().boot
    open.forEach((fd) => closeSync(fd))
    console.log(JSON.stringify([without, thisMachine().boot]))`
  const limited = ['-c', 'ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, script]
  const { stdout } = await world.start('sh', limited).finished
  expect(JSON.parse(stdout)).toEqual(['', thisMachine().boot])
})

test('only a process of the same host can be dead, and only one of the same namespaces alive', () => {
  const field = fc.constantFrom('', 'a', 'b')
  const machine = fc.record({ boot: field, host: field, pidns: field, timens: field })
  fc.assert(
    fc.property(machine, machine, fc.boolean(), (mine, theirs, exists) => {
      const verdict = judge({ pid: 1, started: 1, ...theirs }, mine, () => ({ exists }))
      if (verdict === 'dead') expect(mine.host === theirs.host || mine.boot === theirs.boot).toBe(true)
      if (verdict === 'alive') expect(mine.pidns + mine.timens).toBe(theirs.pidns + theirs.timens)
    }),
  )
})

test('a command name with spaces, parentheses and newlines does not shift the fields', () => {
  const tail = 'S 7 1 1 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 11 0 4711 1 2'
  for (const name of ['sh', 'a b', ') R 1 2', '(((', 'x\n) Z 1', '']) {
    expect(parseProcessStat(`42 (${name}) ${tail}`)).toEqual({
      pid: 42,
      name,
      state: 'S',
      ppid: 7,
      threads: 11,
      started: 4711,
    })
  }
  expect(parseProcessStat('')).toBeUndefined()
  expect(parseProcessStat('42 (sh')).toBeUndefined()
})

test('no forged record can name a process group or an invalid pid', () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), (pid, started) => {
      const identity = parseIdentity({ ...them, pid, started })
      if (identity !== undefined) expect(identity.pid).toBeGreaterThan(0)
    }),
  )
  expect(parseIdentity(null)).toBeUndefined()
  expect(parseIdentity(JSON.parse(JSON.stringify(them)))).toEqual(them)
  const threaded = { ...them, thread: { tid: 43, started: 1001 } }
  expect(parseIdentity(JSON.parse(JSON.stringify(threaded)))).toEqual(threaded)
  expect(parseIdentity({ ...them, thread: { tid: -1, started: 1001 } })).toEqual(them)
})
