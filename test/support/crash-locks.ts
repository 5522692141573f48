import { lockStanding, type SessionLockRecord } from '../../src/session/files/lock-record.ts'
import type { AcquiredLock, SessionLock } from '../../src/session/files/session-lock.ts'
import type { LogPositions } from '../../src/session/files/log-files.ts'
import { sessionLocked } from '../../src/session/session-errors.ts'
import { StintError } from '../../src/base/errors/stint-error.ts'
import type { Holder } from '../../src/session/store.ts'
import type { SuspendedWriter } from './crash-nested.ts'

/** How the process of a holder looks to other processes. */
export type Life = 'alive' | 'dead' | 'silent'

/**
 * The locks of the sessions on a simulated disk. They are not on that disk: locks are not synced, so a power
 * cut may bring back any earlier record, or none.
 */
export class SimulatedLocks {
  readonly #records = new Map<string, SessionLockRecord>()
  readonly #past = new Map<string, SessionLockRecord[]>()
  life: Life
  /** Replaces the check of a lock, for mutations. */
  mutate = (assertOwned: () => void): (() => void) => assertOwned

  constructor(life: Life = 'alive') {
    this.life = life
  }

  look(id: string): SessionLockRecord | undefined {
    return this.#records.get(id)
  }

  acquire(id: string, kind: Holder['kind'], highestHoldEpoch: number): AcquiredLock {
    const before = this.look(id)
    const standing = lockStanding(before, Number.MAX_SAFE_INTEGER, () => lives[this.life])
    if (standing === 'held') throw sessionLocked(id, before?.holder)
    const holdEpoch = Math.max(before?.holdEpoch ?? 0, highestHoldEpoch) + 1
    let current: SessionLockRecord = {
      holder: { ...anyone, kind, epoch: holdEpoch },
      holdEpoch,
      ends: undefined,
      latestAt: undefined,
    }
    this.#write(id, current)
    const assertOwned = (): void => {
      if (this.look(id) !== current) throw new StintError('FENCED', `session ${id} was taken over`)
    }
    const release = (ends: LogPositions | undefined): void => {
      assertOwned()
      current = { holder: undefined, holdEpoch, ends, latestAt: undefined }
      this.#write(id, current)
    }
    const checked = this.mutate(assertOwned)
    // The part of a lock that a held session uses.
    const lock = {
      holdEpoch,
      assertOwned: checked,
      beat: async () => checked(),
      release: async (ends: LogPositions | undefined) => release(ends),
    } as Partial<SessionLock> as SessionLock
    return { lock, standing, before }
  }

  /**
   * The locks that a crash may leave: with the last record, with an earlier one that was released, or with
   * none.
   */
  afterCrash(): SimulatedLocks[] {
    const releases = Math.max(0, ...[...this.#past.values()].map((past) => past.filter(isReleased).length))
    return [
      this.#as((past) => past.at(-1)),
      ...(releases > 0 ? [this.#as((past) => past.findLast(isReleased) ?? past.at(-1))] : []),
      ...(releases > 1 ? [this.#as((past) => past.find(isReleased) ?? past.at(-1))] : []),
      new SimulatedLocks('dead'),
    ]
  }

  /** These locks as another process sees them, to which the holders look like this. */
  seenAs(life: Life): SimulatedLocks {
    const locks = this.#as((past) => past.at(-1))
    locks.life = life
    return locks
  }

  #as(choose: (past: SessionLockRecord[]) => SessionLockRecord | undefined): SimulatedLocks {
    const locks = new SimulatedLocks('dead')
    for (const [id, past] of this.#past) {
      const record = choose(past)
      if (record !== undefined) locks.#write(id, record)
    }
    return locks
  }

  #write(id: string, record: SessionLockRecord): void {
    this.#records.set(id, record)
    this.#past.set(id, [...(this.#past.get(id) ?? []), record])
  }
}

/** A mutation: a writer checks its lock when it writes a group, and not again when the group is synced. */
export function checkOwnerBeforeWriting(locks: SimulatedLocks, writer: SuspendedWriter): void {
  locks.mutate = (assertOwned) => {
    let found: unknown
    // The process that takes the session over writes while the writer is suspended after this.
    writer.beforeWrites.push(() => (found = errorOf(assertOwned)))
    return () => {
      if (found !== undefined) throw found
    }
  }
}

function errorOf(act: () => void): unknown {
  try {
    act()
    return undefined
  } catch (error) {
    return error
  }
}

const lives = { alive: 'alive', dead: 'dead', silent: 'unknown' } as const

const isReleased = ({ ends }: SessionLockRecord): boolean => ends !== undefined

const anyone: Holder = {
  process: { pid: 1, started: 0, boot: '', host: '', pidns: '', timens: '' },
  since: 0,
  beat: 0,
  kind: 'writer',
  epoch: 0,
}
