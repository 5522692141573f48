import { type Disk, readFile } from '../../src/base/fs/disk.ts'
import type { SessionHold } from '../../src/session/medium.ts'
import type { Recovery, SessionLog } from '../../src/session/session-log.ts'
import { ifExists } from '../../src/base/fs/exists.ts'
import type { RecoveryReport } from '../../src/session/store.ts'
import type { CrashDisk } from './crash-disk.ts'
import { directoryOf, pathsOf, type SessionLimits, SimulatedMedium } from './crash-driver.ts'
import { type Facts, factsOf, findingsOf } from './crash-facts.ts'
import type { SimulatedLocks } from './crash-locks.ts'
import type { Oracle } from './crash-oracle.ts'
import type { Wrap } from './crash-simulation.ts'
import { allLost } from './crash-states.ts'

/** A disk as a crash may leave it, and the moment of the crash. */
export interface CrashState {
  disk: CrashDisk
  locks: SimulatedLocks
  /** How many changes the disk had before the crash. Answers that came later never reached the workload. */
  at: number
  sizes: Partial<SessionLimits>
  wrap?: Wrap
  /** Judge only what recovery finds, and do not write to the session after that. */
  quick?: boolean
}

/** The session as recovery found it, and the faults in it. */
export interface Verdict {
  facts?: Facts
  violations: string[]
}

/**
 * Recovers a session as the store does, and checks that it opens, that it has the records the oracle expects,
 * that a second power cut right after the recovery changes nothing, and that it keeps the records that are
 * written next.
 */
export async function checkState(state: CrashState, id: string, oracle: Oracle): Promise<Verdict> {
  const { disk, locks, at } = state
  const mustExist = (oracle.created.acknowledged ?? Number.POSITIVE_INFINITY) <= at
  if (directoryOf(disk, id).readManifest() === undefined) {
    // A list shows a directory without a manifest as damaged, so no crash of a creation may leave one.
    const names = ifExists(() => disk.list(pathsOf(id).root))
    const remains = names === undefined ? [] : [`there is a session without a manifest: ${names.join()}`]
    return { violations: mustExist ? ['the session is gone', ...remains] : remains }
  }
  const check = new Check(state, id, oracle)
  const wasReleased = locks.look(id)?.ends !== undefined
  const visited = wasReleased && !state.quick ? allLost(disk) : undefined
  const facts = await check.recover(disk)
  if (facts !== undefined && !state.quick) await check.recoverAgain(allLost(disk), facts)
  if (facts !== undefined && !state.quick) await check.goOn(disk, check.held)
  if (visited !== undefined) await check.visit(visited)
  return { facts, violations: [...new Set(check.violations)] }
}

/** The check of one state. */
class Check {
  readonly violations: string[] = []
  held: SessionLog | undefined
  readonly #state: CrashState
  readonly #id: string
  readonly #oracle: Oracle
  /** The locks before the recovery took them. */
  readonly #locksOfVisit: SimulatedLocks

  constructor(state: CrashState, id: string, oracle: Oracle) {
    this.#locksOfVisit = state.locks.seenAs('dead')
    this.#state = state
    this.#id = id
    this.#oracle = oracle
  }

  /** Opens the session and reads it. */
  async recover(disk: CrashDisk): Promise<Facts | undefined> {
    const held = await this.#step('it does not open', () => this.#open(disk, 'writer', this.#state.locks))
    const facts = held && (await this.#step('it cannot be read', () => this.#look(disk, held)))
    if (held === undefined || facts === undefined) return undefined
    this.held = held
    this.violations.push(...this.#oracle.judge(facts, this.#state.at), ...unkept(disk, held))
    return facts
  }

  /** Recovers the disk as a power cut right after the first recovery leaves it. */
  async recoverAgain(disk: CrashDisk, facts: Facts): Promise<void> {
    const twice = await this.#step('it does not open a second time', () =>
      this.#open(disk, 'writer', this.#state.locks.seenAs('dead')).then((held) => this.#look(disk, held)),
    )
    if (twice !== undefined) this.violations.push(...differences('recovered twice', facts, twice))
  }

  /**
   * A stale lock record may say that the session was closed: then a visitor appends without recovering it.
   */
  async visit(disk: CrashDisk): Promise<void> {
    const locks = this.#locksOfVisit
    const visitor = await this.#step('it does not open to a visitor', () =>
      this.#open(disk, 'visitor', locks),
    )
    await this.goOn(disk, visitor, locks)
  }

  /** Writes a little and closes the session; then all of that must be there. */
  async goOn(disk: CrashDisk, held: SessionLog | undefined, locks = this.#state.locks): Promise<void> {
    if (held === undefined) return
    await this.#step('it cannot be written to', () => writeALittle(held))
    const later = await this.#step('it does not open after that', async () => {
      this.violations.push(...(await findingsOf(this.#seen(disk), this.#id, held.manifest)))
      return await this.#look(disk, await this.#open(disk, 'writer', locks))
    })
    if (later === undefined) return
    const { at } = this.#state
    const [journal, audit] = [without(later.journal, 'probe'), without(later.audit, 'note probe')]
    if (journal.length === later.journal.length)
      this.violations.push('the record that was written next is lost')
    if (audit.length === later.audit.length)
      this.violations.push('the audit line that was written next is lost')
    this.violations.push(...this.#oracle.judge({ ...later, journal, audit }, at))
  }

  #seen(disk: CrashDisk): Disk {
    return this.#state.wrap?.(disk) ?? disk
  }

  #open(disk: CrashDisk, kind: SessionHold['kind'], locks: SimulatedLocks): Promise<SessionLog> {
    return new SimulatedMedium(this.#seen(disk), locks, this.#state.sizes).openLog(this.#id, { kind })
  }

  #look(disk: CrashDisk, { recovered, manifest }: SessionLog): Promise<Facts> {
    return factsOf(this.#seen(disk), this.#id, manifest, (recovered as Recovery).state)
  }

  async #step<T>(what: string, act: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await act()
    } catch (error) {
      this.violations.push(`${what}: ${(error as Error).message}`)
      return undefined
    }
  }
}

async function writeALittle(held: SessionLog): Promise<void> {
  const appended = held.append('journal', { type: 'probe', json: '{"n":"probe"}' })
  const audited = held.append('audit', { type: 'note', json: '{"action":"probe"}' })
  await held.release()
  await Promise.all([appended, audited])
}

/** Bytes that recovery cut off must be in quarantine. */
const unkept = (disk: Disk, held: SessionLog): string[] =>
  reportOf(held).cut.flatMap(({ kept, bytes }) =>
    readFile(disk, kept)?.length === bytes ? [] : [`${bytes} bytes were cut off and not kept in ${kept}`],
  )

/** The report of a session that was opened for writing. */
const reportOf = ({ recovered }: SessionLog): RecoveryReport => (recovered as Recovery).report

function differences(what: string, one: Facts, other: Facts): string[] {
  const names = ['journal', 'audit', 'closes', 'state'] as const
  return names.flatMap((name) => {
    const [a, b] = [one, other].map((facts) => JSON.stringify(facts[name]))
    return a === b ? [] : [`${what}: ${name} was ${a}, is ${b}`]
  })
}

function without(names: readonly string[], name: string): string[] {
  const at = names.lastIndexOf(name)
  return at < 0 ? [...names] : [...names.slice(0, at), ...names.slice(at + 1)]
}
