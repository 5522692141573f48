import type { Disk } from '../../src/base/fs/disk.ts'
import { createStore } from '../../src/session/create-store.ts'
import { emptyState } from '../../src/session/state.ts'
import type { Session } from '../../src/session/session.ts'
import type { SessionStore } from '../../src/session/store.ts'
import type { CrashDisk } from './crash-disk.ts'
import { clock, emptyDisk, type SessionLimits, SimulatedMedium } from './crash-driver.ts'
import { factsOf } from './crash-facts.ts'
import { SimulatedLocks } from './crash-locks.ts'
import { Oracle, type Submission } from './crash-oracle.ts'
import { type CommitWay, diskFor } from './later-turns.ts'

/** Puts a fault of the disk or of the store between the two. */
export type Wrap = (disk: CrashDisk) => Disk

/**
 * The store on a simulated disk, driven by a workload, with an oracle for each session that notes all
 * answers.
 */
export class Simulation {
  readonly disk: CrashDisk
  readonly locks: SimulatedLocks
  readonly sizes: Partial<SessionLimits>
  readonly store: SessionStore
  readonly oracles: Map<string, Oracle>
  readonly #opened: Session[] = []

  constructor(
    options: {
      disk?: CrashDisk
      wrap?: Wrap
      locks?: SimulatedLocks
      sizes?: Partial<SessionLimits>
      oracles?: Map<string, Oracle>
      way?: CommitWay
      /** Makes the disk whose calls run in the thread pool, for mutations. */
      pool?: (disk: Disk) => Disk
    } = {},
  ) {
    this.disk = options.disk ?? emptyDisk()
    this.locks = options.locks ?? new SimulatedLocks()
    this.sizes = options.sizes ?? {}
    const seen = options.wrap?.(this.disk) ?? this.disk
    const { way = 'on the event loop', pool = (disk) => diskFor(way, disk) } = options
    const medium = new SimulatedMedium(pool(seen), this.locks, this.sizes)
    this.store = createStore(medium, clock, medium.limits)
    this.oracles = options.oracles ?? new Map()
  }

  oracle(id: string): Oracle {
    const oracle = this.oracles.get(id) ?? new Oracle(() => this.disk.changes)
    this.oracles.set(id, oracle)
    return oracle
  }

  async create(id: string, everyTurn = false): Promise<SimulatedSession> {
    const oracle = this.oracle(id)
    const snapshots = everyTurn ? {} : { minRecords: 500, minBytes: 256 << 10 }
    const session = await this.store.create({ id, snapshots })
    oracle.acknowledge(oracle.created)
    return this.#steered(session)
  }

  async resume(id: string): Promise<SimulatedSession> {
    const session = await this.store.resume(id)
    this.oracle(id).resumed(await factsOf(this.disk, id, session.manifest, emptyState()))
    return this.#steered(session)
  }

  /**
   * Forks a session. The fork must have the records of the original, and then is a session like any other.
   */
  async fork(from: SimulatedSession, id: string, at?: number): Promise<SimulatedSession> {
    const [oracle, origin] = [this.oracle(id), this.oracle(from.session.id)]
    const copy = (list: readonly Submission[], count?: number): Submission[] =>
      list
        .filter(({ rejected }) => rejected === undefined)
        .slice(0, count)
        .map(({ name }) => ({ name }))
    oracle.journal.push(...copy(origin.journal, at))
    oracle.audit.push(...copy(origin.audit))
    const session = await this.store.fork(from.session.id, { id, at })
    for (const submission of [oracle.created, ...oracle.journal, ...(at === undefined ? oracle.audit : [])])
      oracle.acknowledge(submission)
    return this.#steered(session)
  }

  /** Visits a session that no other process holds. */
  async visit(id: string, log: 'journal' | 'audit', n: string): Promise<void> {
    const oracle = this.oracle(id)
    const name = log === 'journal' ? n : `note ${n}`
    await this.store.visit(id, (visit) =>
      oracle.ask(oracle[log], name, () =>
        log === 'journal' ? visit.append({ type: 'message', data: { n } }) : visit.audit({ action: n }),
      ),
    )
  }

  /** Closes the sessions that a workload has left open, and ignores the answers. */
  async end(): Promise<void> {
    for (const oracle of this.oracles.values()) oracle.deaf = true
    await Promise.allSettled(this.#opened.map((session) => session.close()))
  }

  #steered(session: Session): SimulatedSession {
    this.#opened.push(session)
    return new SimulatedSession(session, this.oracle(session.id))
  }
}

/** A session whose answers the oracle notes. */
export class SimulatedSession {
  readonly session: Session
  readonly #oracle: Oracle

  constructor(session: Session, oracle: Oracle) {
    this.session = session
    this.#oracle = oracle
  }

  async append(n: string, { durable = true, pad = 0 } = {}): Promise<void> {
    const data = { n, pad: 'x'.repeat(pad) }
    await this.#oracle.ask(this.#oracle.journal, n, () =>
      this.session.append({ type: 'message', data }, { durable }),
    )
  }

  async set(ext: string, n: string, pad = 0): Promise<void> {
    const slot = this.session.slot<unknown>(ext, { version: '1', initial: {} })
    await this.#oracle.ask(this.#oracle.journal, n, () => slot.set({ n, pad: 'y'.repeat(pad) }))
  }

  async turn(n: string): Promise<void> {
    await this.#oracle.ask(this.#oracle.journal, n, () => this.session.turn({ n }))
  }

  async note(action: string): Promise<void> {
    await this.#oracle.ask(this.#oracle.audit, `note ${action}`, () => this.session.audit({ action }))
  }

  /** The act starts only when its intent is on disk, so its start is the acknowledgement of the intent. */
  async act(action: string, fails = false): Promise<void> {
    const oracle = this.#oracle
    const intent: Submission = { name: `intent ${action}` }
    oracle.audit.push(intent)
    const act = async (): Promise<void> => {
      oracle.acknowledge(intent)
      if (fails) throw new Error('as ordered')
    }
    const outcome: Submission = { name: `outcome ${action}` }
    oracle.audit.push(outcome)
    try {
      await this.session.act({ action, key: action }, act)
      oracle.acknowledge(outcome)
    } catch {
      // The caller of an act that failed does not learn whether the outcome was recorded.
      if (!fails || intent.acknowledged === undefined)
        for (const each of [intent, outcome]) oracle.reject(each)
    }
  }

  async close(): Promise<void> {
    await this.#oracle.ask(this.#oracle.closes, 'close', () => this.session.close())
  }
}
