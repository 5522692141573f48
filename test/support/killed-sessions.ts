import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { filesystemStore } from '../../src/session/files/medium.ts'
import type { SessionEvent, SessionStore } from '../../src/session/store.ts'
import { allOf } from './all-of.ts'
import { buildSlowSync } from './build-c.ts'
import { projectRoot, type Running, until, World } from './world.ts'

const program = join(projectRoot, 'test/fixtures/killed-session.mjs')

/**
 * Starts a process that works on a session until it is killed. Start it early: starting takes longer than the
 * rest.
 */
export function startWorker(
  world: World,
  home: string,
  within: readonly string[] = [],
  env?: Record<string, string>,
): Running {
  const [command = '', ...args] = [...within, process.execPath, program, home]
  return world.start(command, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env })
}

/** Knows, outside of the processes that write to a session, which records it must have. */
export class StormedSession {
  readonly id: string
  /** Everything that was acknowledged to a worker. */
  readonly safe = new Set<string>()
  /** How many records and acts the session had at the last check. */
  #records = 0
  #acts = 0
  #created = false

  constructor(id: string) {
    this.id = id
  }

  get isThere(): boolean {
    return this.#created
  }

  /**
   * Lets a worker run for a random time, then kills it; with `endDisk`, cuts its disk off first, of which the
   * worker may die by itself. `endDisk` returns the moment.
   */
  async storm(worker: Running, endDisk?: () => Promise<bigint>): Promise<void> {
    const { child, output, finished } = worker
    const order = { id: this.id, resume: this.#created, records: this.#records, acts: this.#acts }
    child.send(order)
    await until('the worker is up, or has failed', () => output().stdout !== '' || child.exitCode !== null)
    this.#created ||= output().stdout.startsWith('up ')
    const heard = Math.random() * 20
    await until(
      'the worker has heard an acknowledgement',
      () => output().stdout.split('\n').length > heard || child.exitCode !== null,
    )
    await delay(Math.random() * 10)
    const endedAt = await endDisk?.()
    child.kill('SIGKILL')
    const { code, stdout, stderr } = await finished
    if (code !== null && endDisk === undefined)
      throw new Error(`the worker ended by itself, with ${code}: ${stderr}`)
    for (const line of stdout.split('\n').slice(0, -1)) {
      const [, name = '', at = ''] = /^(.*) (\d+)$/.exec(line) ?? []
      if (endedAt === undefined || BigInt(at) < endedAt) this.safe.add(name)
    }
  }

  /** Returns what is wrong with the session, for a reader without a lock or after a resume. */
  async faults(store: SessionStore, resume: boolean): Promise<string[]> {
    if (resume) await (await store.resume(this.id)).close()
    const inspection = await store.inspect(this.id)
    const events = await allOf(inspection.events({ all: true }))
    const audit = await allOf(inspection.audit())
    const numbers = events.map(numberOf)
    const names = audit.map(({ type, action }) => `${type} ${action}`)
    const there = new Set([...numbers.map((n) => `record ${n}`), ...names, 'up', 'close'])
    this.#records = numbers.length
    this.#acts = Math.max(0, ...audit.map(({ action }) => Number(action)))
    const slots = events.filter(({ type }) => type === 'stint.slot').map(numberOf)
    const { slot } = (await inspection.slots()) as { slot?: { value: { n: number } } }
    const { ok, journal } = await inspection.health()
    return [
      ...[...this.safe].filter((name) => !there.has(name)).map((name) => `${name} is lost`),
      ...numbers.flatMap((n, i) => (n === i + 1 ? [] : [`record ${n} where ${i + 1} belongs`])),
      ...names.flatMap((name, i) => outOfOrder(name, names.slice(0, i))),
      ...(slot?.value.n === slots.at(-1) ? [] : [`the slot has ${slot?.value.n}, not ${slots.at(-1)}`]),
      ...(ok || (!resume && journal.state === 'torn') ? [] : ['it is damaged']),
    ]
  }
}

const numberOf = ({ type, data }: Pick<SessionEvent, 'type' | 'data'>): number =>
  (type === 'stint.slot' ? (data as { value: { n: number } }).value : (data as { n: number })).n

/** An intent comes before its outcome, and no line comes twice. */
function outOfOrder(name: string, before: readonly string[]): string[] {
  if (before.includes(name)) return [`${name} is there twice`]
  const intent = name.replace(/^outcome/, 'intent')
  return intent === name || before.includes(intent) ? [] : [`${name} without an intent before it`]
}

/**
 * Kills this many workers at random moments, checks the session after each, and returns all faults. Each sync
 * of the workers takes `syncMs` milliseconds more.
 */
export async function stormSessions(
  rounds: number,
  syncMs: number,
): Promise<{ faults: string[]; safe: number }> {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const store = filesystemStore({ home })
  const env = syncMs > 0 ? { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: String(syncMs) } : undefined
  const sessions = Array.from({ length: 5 }, (_, n) => new StormedSession(`storm-${n}`))
  const faults: string[] = []
  let worker = startWorker(world, home, [], env)
  for (let round = 0; round < rounds; round++) {
    const session = sessions[round % sessions.length] as StormedSession
    const next = startWorker(world, home, [], env)
    await session.storm(worker)
    worker = next
    const resumes = round % 3 === 0
    faults.push(...(await session.faults(store, resumes)).map((what) => `round ${round}: ${what}`))
  }
  worker.child.kill('SIGKILL')
  for (const session of sessions) faults.push(...(await session.faults(store, true)))
  return { faults, safe: sessions.reduce((sum, { safe }) => sum + safe.size, 0) }
}
