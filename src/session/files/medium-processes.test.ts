import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SessionHolder } from '../../../test/support/session-holder.ts'
import { until, World } from '../../../test/support/world.ts'
import { readProcessStat } from '../../base/process/platform.ts'
import type { SessionStore } from '../store.ts'
import { filesystemStore } from './medium.ts'

let world: World
let home: string
let store: SessionStore
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
  store = filesystemStore({ home })
})
afterEach(() => world[Symbol.asyncDispose]())

const libraryUrl = new URL('../../../dist/index.js', import.meta.url).href

const typesOf = async (id: string): Promise<string[]> => {
  const types: string[] = []
  for await (const { type } of (await store.inspect(id)).events()) types.push(type)
  return types
}

test('a session that another process holds is refused with its pid, and resumes as soon as that process is killed', async () => {
  const holder = await SessionHolder.start(world, home)
  const id = (await holder.tell({ do: 'create', options: { purpose: 'work' } })) as string
  await holder.tell({ do: 'append', type: 'first' })
  await expect(store.resume(id)).rejects.toMatchObject({
    code: 'SESSION_LOCKED',
    exit: 4,
    message: expect.stringContaining(`pid ${holder.pid} (work)`) as string,
    options: { facts: { holder: { pid: holder.pid, host: hostname(), purpose: 'work' } } },
  })
  await expect(store.remove(id)).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  expect(await store.list()).toMatchObject([{ state: 'active', holder: { process: { pid: holder.pid } } }])
  expect(await typesOf(id)).toEqual(['first'])
  await holder.signal('SIGKILL')
  expect(await store.list()).toMatchObject([{ state: 'crashed' }])
  const session = await store.resume(id)
  expect(session.report.tookOverFrom?.process.pid).toBe(holder.pid)
  expect((await session.append({ type: 'second' })).seq).toBe(2)
  await session.close()
  expect(await store.list()).toMatchObject([{ state: 'closed', records: 2 }])
})

test.runIf(process.platform === 'linux')(
  'a session of a worker thread that was terminated is free at once, also for its own process',
  async () => {
    const script = `
      const { Worker } = await import('node:worker_threads')
      const { filesystemStore } = await import(${JSON.stringify(libraryUrl)})
      const worker = new Worker(\`import(${JSON.stringify(libraryUrl)}).then(async ({ filesystemStore }) => {
        const session = await filesystemStore({ home: ${JSON.stringify(home)} }).create({ id: 'threaded' })
        await session.append({ type: 'first' })
        const { parentPort } = await import('node:worker_threads')
        parentPort.postMessage('holds')
        setInterval(() => {}, 1000)
      })\`, { eval: true })
      await new Promise((resolve) => worker.once('message', resolve))
      const store = filesystemStore({ home: ${JSON.stringify(home)} })
      const { code } = await store.resume('threaded').catch((error) => error)
      await worker.terminate()
      const session = await store.resume('threaded')
      await session.append({ type: 'second' })
      await session.close()
      console.log(JSON.stringify([code, session.report.tookOverFrom.process.pid === process.pid]))`
    const { stdout, stderr } = await world.start(process.execPath, ['--input-type=module', '-e', script])
      .finished
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(['SESSION_LOCKED', true])
    expect(await typesOf('threaded')).toEqual(['first', 'second'])
  },
)

test('a process that waits for a living holder gets the session when the holder is killed', async () => {
  const holder = await SessionHolder.start(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  const waiting = store.resume(id, { wait: '1m' })
  await holder.signal('SIGKILL')
  await using session = await waiting
  expect(session.report.tookOverFrom?.process.pid).toBe(holder.pid)
})

test('a segment with bytes of a fenced writer is replaced by a copy without them, and removed', async () => {
  const holder = await SessionHolder.start(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  await holder.tell({ do: 'append', type: 'first' })
  await store.unlock(id)
  await expect(holder.tell({ do: 'append', type: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  const session = await store.resume(id)
  const directory = join(home, 'sessions', id)
  expect(readdirSync(directory)).not.toContain('journal.log')
  expect(await typesOf(id)).toEqual(['first'])
  await session.close()
  expect((await (await store.inspect(id)).health()).ok).toBe(true)
})

test('a writer that wakes up after a takeover is fenced, and nothing it writes is read', async () => {
  const holder = await SessionHolder.start(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  await holder.tell({ do: 'append', type: 'first' })
  await holder.signal('SIGSTOP')
  await until('the holder is stopped', () => readProcessStat(holder.pid)?.state === 'T')
  // The holder gets the order when it wakes up.
  const late = holder.tell({ do: 'append', type: 'late' })
  expect((await store.unlock(id))?.process.pid).toBe(holder.pid)
  const session = await store.resume(id)
  await session.append({ type: 'second' })
  await holder.signal('SIGCONT')
  await expect(late).rejects.toMatchObject({ code: 'FENCED' })
  await expect(holder.tell({ do: 'append', type: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  await expect(holder.tell({ do: 'act', key: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  await expect(holder.tell({ do: 'close' })).rejects.toMatchObject({ code: 'FENCED' })
  await session.append({ type: 'third' })
  expect(await typesOf(id)).toEqual(['first', 'second', 'third'])
  await session.close()
  expect((await (await store.inspect(id)).health()).ok).toBe(true)
  await using again = await store.resume(id)
  expect(again.lastSeq).toBe(3)
})

/** Sets the holder's last heartbeat back, as if it had been silent since. */
function age(id: string, ms: number): void {
  const lock = join(home, 'sessions', id, 'lock')
  const top = Math.max(...readdirSync(lock).map(Number).filter(Number.isSafeInteger))
  const record = JSON.parse(readFileSync(join(lock, String(top)), 'utf8')) as { holder: { beat: number } }
  record.holder.beat -= ms
  writeFileSync(join(lock, String(top + 1)), JSON.stringify(record))
}

test('a holder in another pid namespace loses its session after five minutes without a heartbeat', async () => {
  const holder = await SessionHolder.startElsewhere(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  await holder.tell({ do: 'append', type: 'first' })
  expect(await store.list()).toMatchObject([{ state: 'locked' }])
  // This process cannot know the machine of the holder.
  const facts = { holder: { pid: expect.any(Number) as number, host: undefined } }
  await expect(store.resume(id)).rejects.toMatchObject({ code: 'SESSION_LOCKED', options: { facts } })
  age(id, 4.5 * 60_000)
  await expect(store.resume(id)).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  age(id, 60_000)
  expect(await store.list()).toMatchObject([{ state: 'crashed' }])
  const session = await store.resume(id)
  await session.append({ type: 'second' })
  await expect(holder.tell({ do: 'append', type: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  await session.close()
  expect(await typesOf(id)).toEqual(['first', 'second'])
})

test('a holder in another pid namespace loses its session at once by unlock', async () => {
  const holder = await SessionHolder.startElsewhere(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  await holder.tell({ do: 'append', type: 'first' })
  expect((await store.unlock(id))?.process.pidns).not.toBe('')
  await using session = await store.resume(id)
  await expect(holder.tell({ do: 'append', type: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  expect(session.lastSeq).toBe(1)
})

test('a visit fails while a stopped process holds the session, and opens it once that process was killed', async () => {
  const holder = await SessionHolder.start(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  await holder.tell({ do: 'append', type: 'first' })
  await holder.signal('SIGSTOP')
  await until('the holder is stopped', () => readProcessStat(holder.pid)?.state === 'T')
  const visit = () => store.visit(id, (each) => each.append({ type: 'then' }))
  await expect(visit()).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  expect(await typesOf(id)).toEqual(['first'])
  await holder.signal('SIGKILL')
  expect(await visit()).toMatchObject({ seq: 2 })
  expect(await typesOf(id)).toEqual(['first', 'then'])
})

test('an act whose process was killed is uncertain, and is not repeated silently', async () => {
  const holder = await SessionHolder.start(world, home)
  const id = (await holder.tell({ do: 'create' })) as string
  expect(await holder.tell({ do: 'act', key: 'k', forever: true })).toBe('acting')
  await holder.signal('SIGKILL')
  await using session = await store.resume(id)
  expect(session.unsettled()).toMatchObject([{ action: 'act', key: 'k' }])
  await expect(session.act({ action: 'act', key: 'k' }, () => 1)).rejects.toMatchObject({
    code: 'ACT_UNCERTAIN',
  })
})

test('the records of visitors in several processes are each there once', async () => {
  const holders = await Promise.all([1, 2, 3].map(() => SessionHolder.start(world, home)))
  const [writer, ...visitors] = holders as [SessionHolder, ...SessionHolder[]]
  const id = (await writer.tell({ do: 'create' })) as string
  await writer.tell({ do: 'close' })
  const written: string[] = []
  for (let round = 0; round < 10; round++)
    await Promise.all(
      visitors.map(async (visitor, i) => {
        const type = `v${i}-${round}`
        written.push(type)
        await visitor.tell({ do: 'visit', id, type })
      }),
    )
  expect((await typesOf(id)).toSorted()).toEqual(written.toSorted())
  expect((await (await store.inspect(id)).health()).ok).toBe(true)
})

test('what a visit acknowledged is there after its process was killed, and the next visit goes on', async () => {
  const visitor = await SessionHolder.start(world, home)
  const id = (await visitor.tell({ do: 'create' })) as string
  await visitor.tell({ do: 'close' })
  expect(await visitor.tell({ do: 'visit', id, type: 'first', forever: true })).toBe('visiting')
  await visitor.signal('SIGKILL')
  expect((await store.inspect(id)).summary.state).toBe('crashed')
  expect(await typesOf(id)).toEqual(['first'])
  await store.visit(id, (visit) => visit.append({ type: 'then' }))
  expect(await typesOf(id)).toEqual(['first', 'then'])
  expect((await (await store.inspect(id)).health()).ok).toBe(true)
})
