import { type Disk, readFile } from '../../src/base/fs/disk.ts'
import type { Recovery, SessionHold } from '../../src/session/driver.ts'
import type { FilesystemSession, SessionLimits } from '../../src/session/files/held-session.ts'
import { takeInSpool } from '../../src/session/live-session.ts'
import { RegisteredSecrets } from '../../src/session/session-secrets.ts'
import { listSpoolFiles } from '../../src/session/files/spool.ts'
import type { RecoveryReport } from '../../src/session/store.ts'
import type { CrashDisk } from './crash-disk.ts'
import { directoryOf, pathsOf, SimulatedDriver } from './crash-driver.ts'
import { type Facts, factsOf, sicknessOf } from './crash-facts.ts'
import type { SimulatedLocks } from './crash-locks.ts'
import type { Oracle } from './crash-oracle.ts'
import type { Wrap } from './crash-simulation.ts'
import { allLost } from './crash-states.ts'

/** A disk as a crash may have left it, and when that was. */
export interface CrashState {
  disk: CrashDisk
  locks: SimulatedLocks
  /** The count of changes before the crash: what was heard later was never heard. */
  at: number
  sizes: Partial<SessionLimits>
  wrap?: Wrap
  /** Only what is there is judged, and not what comes after. */
  quick?: boolean
}

/** What was found, and everything that is wrong with it. */
export interface Verdict {
  facts?: Facts
  violations: string[]
}

/**
 * Recovers a session as the store does, and asks: does it open, has it what the oracle says, is it the same when power goes again at once, and
 * does it take and keep what is written next?
 */
export async function checkState(state: CrashState, id: string, oracle: Oracle): Promise<Verdict> {
  const { disk, locks, at } = state
  const mustBe = (oracle.created.acknowledged ?? Number.POSITIVE_INFINITY) <= at
  if (readFile(disk, pathsOf(id).manifest) === undefined)
    return { violations: mustBe ? ['the session is gone'] : [] }
  const check = new Check(state, id, oracle)
  const wasReleased = locks.look(id)?.ends !== undefined
  const visited = wasReleased && !state.quick ? allLost(disk) : undefined
  const facts = await check.recover(disk)
  if (facts !== undefined && !state.quick) await check.recoverAgain(allLost(disk), facts)
  if (facts !== undefined && !state.quick) await check.goOn(disk, check.held)
  if (visited !== undefined) await check.visit(visited)
  return { facts, violations: [...new Set(check.violations)] }
}

/** One state under examination, and what was found wrong so far. */
class Check {
  readonly violations: string[] = []
  held: FilesystemSession | undefined
  readonly #state: CrashState
  readonly #id: string
  readonly #oracle: Oracle
  /** As they were before the recovery took them. */
  readonly #locksOfVisit: SimulatedLocks

  constructor(state: CrashState, id: string, oracle: Oracle) {
    this.#locksOfVisit = state.locks.seenAs('dead')
    this.#state = state
    this.#id = id
    this.#oracle = oracle
  }

  /** What is there once it was opened. */
  async recover(disk: CrashDisk): Promise<Facts | undefined> {
    const newest = newestSnapshot(disk, this.#id)
    const held = await this.#step('it does not open', () => this.#open(disk, 'writer', this.#state.locks))
    const facts = held && (await this.#step('it cannot be read', () => this.#look(disk, held)))
    if (held === undefined || facts === undefined) return undefined
    this.held = held
    this.violations.push(...this.#oracle.judge(facts, this.#state.at), ...unkept(disk, held))
    if ((reportOf(held).snapshot ?? 0) < newest) this.violations.push(`snapshot ${newest} is of no use`)
    return facts
  }

  /** Power goes again at once. */
  async recoverAgain(disk: CrashDisk, facts: Facts): Promise<void> {
    const twice = await this.#step('it does not open a second time', () =>
      this.#look(disk, this.#open(disk, 'writer', this.#state.locks.seenAs('dead'))),
    )
    if (twice !== undefined) this.violations.push(...differences('recovered twice', facts, twice))
  }

  /** By a stale record of its lock it was closed, and a visitor may go on without reading it. */
  async visit(disk: CrashDisk): Promise<void> {
    const locks = this.#locksOfVisit
    const visitor = await this.#step('it does not open to a visitor', () =>
      this.#open(disk, 'visitor', locks),
    )
    await this.goOn(disk, visitor, locks)
  }

  /** Takes in what visitors left, writes a little and closes; then all of it must be there. */
  async goOn(disk: CrashDisk, held: FilesystemSession | undefined, locks = this.#state.locks): Promise<void> {
    if (held === undefined) return
    await this.#step('it does not go on', () => writeALittle(held, disk, this.#id))
    const later = await this.#step('it does not open after that', () => {
      this.violations.push(...sicknessOf(this.#seen(disk), this.#id, held.manifest))
      return this.#look(disk, this.#open(disk, 'writer', locks))
    })
    if (later === undefined) return
    const { at } = this.#state
    const [journal, audit] = [without(later.journal, 'probe'), without(later.audit, 'note probe')]
    if (journal.length === later.journal.length) this.violations.push('what was written next is lost')
    if (audit.length === later.audit.length) this.violations.push('what was audited next is lost')
    this.violations.push(
      ...this.#oracle.judgeSpool(later, at),
      ...this.#oracle.judge({ ...later, journal, audit }, at),
    )
  }

  #seen(disk: CrashDisk): Disk {
    return this.#state.wrap?.(disk) ?? disk
  }

  #open(disk: CrashDisk, kind: SessionHold['kind'], locks: SimulatedLocks): FilesystemSession {
    return new SimulatedDriver(this.#seen(disk), locks, this.#state.sizes).openNow(this.#id, { kind })
  }

  #look(disk: CrashDisk, { recovered, manifest }: FilesystemSession): Facts {
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

async function writeALittle(held: FilesystemSession, disk: Disk, id: string): Promise<void> {
  if (listSpoolFiles(directoryOf(disk, id)).length > 0)
    await takeInSpool(held, new RegisteredSecrets(), () => {})
  const appended = held.append('journal', { type: 'probe', json: '{"n":"probe"}' })
  const audited = held.append('audit', { type: 'note', json: '{"action":"probe"}' })
  await held.release()
  await Promise.all([appended, audited])
}

/** A snapshot is named only when everything it names is on disk. */
function newestSnapshot(disk: Disk, id: string): number {
  try {
    return Math.max(0, ...disk.list(pathsOf(id).snapshots).map((name) => Number.parseInt(name, 10) || 0))
  } catch {
    return 0
  }
}

/** What recovery cut off must be in quarantine. */
const unkept = (disk: Disk, held: FilesystemSession): string[] =>
  reportOf(held).cut.flatMap(({ kept, bytes }) =>
    readFile(disk, kept)?.length === bytes ? [] : [`${bytes} bytes were cut off and not kept in ${kept}`],
  )

/** The report of a session that was opened for writing. */
const reportOf = ({ recovered }: FilesystemSession): RecoveryReport => (recovered as Recovery).report

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
