import type { Disk } from '../../src/primitives/disk.ts'
import { readFile } from '../../src/primitives/disk.ts'
import type { HeldSession } from '../../src/store/driver.ts'
import type { Sizes } from '../../src/store/filesystem/held-session.ts'
import { waiting } from '../../src/store/filesystem/spool.ts'
import type { CrashDisk } from './crash-disk.ts'
import { pathsOf, SimulatedDriver } from './crash-driver.ts'
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
  sizes: Sizes
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
  const seen = state.wrap?.(disk) ?? disk
  const mustBe = (oracle.created.acknowledged ?? Number.POSITIVE_INFINITY) <= at
  if (readFile(disk, pathsOf(id).manifest) === undefined)
    return { violations: mustBe ? ['the session is gone'] : [] }
  const violations: string[] = []
  const step = async <T>(what: string, act: () => T | Promise<T>): Promise<T | undefined> => {
    try {
      return await act()
    } catch (error) {
      violations.push(`${what}: ${(error as Error).message}`)
      return undefined
    }
  }
  const look = (there: Disk, { state: recovered }: HeldSession): Facts =>
    factsOf(there, id, driverOn(there, state, locks).manifestOf(id), recovered)
  const newest = newestSnapshot(seen, id)
  const held = await step('it does not open', () => openOn(seen, state, locks, id))
  const facts = held === undefined ? undefined : await step('it cannot be read', () => look(seen, held))
  if (held === undefined || facts === undefined) return { violations }
  violations.push(...oracle.judge(facts, at))
  if ((held.report.snapshot ?? 0) < newest) violations.push(`snapshot ${newest} is of no use`)
  violations.push(...unkept(disk, held))
  if (state.quick) return { facts, violations }
  const again = allLost(disk)
  const twice = await step('it does not open a second time', () => {
    const wrapped = state.wrap?.(again) ?? again
    return look(wrapped, openOn(wrapped, state, locks.seenAs('dead'), id))
  })
  if (twice !== undefined) violations.push(...differences('recovered twice', facts, twice))
  await step('it does not go on', () => goOn(held, seen, id))
  const later = await step('it does not open after that', () => {
    violations.push(...sicknessOf(seen, id, held.manifest))
    return look(seen, openOn(seen, state, locks, id))
  })
  if (later === undefined) return { facts, violations }
  violations.push(...oracle.judgeSpool(later, at))
  const probed = {
    ...later,
    journal: without(later.journal, 'probe'),
    audit: without(later.audit, 'note probe'),
  }
  if (probed.journal.length === later.journal.length) violations.push('what was written next is lost')
  if (probed.audit.length === later.audit.length) violations.push('what was audited next is lost')
  violations.push(...oracle.judge(probed, at).filter((each) => !violations.includes(each)))
  return { facts, violations }
}

const driverOn = (disk: Disk, { sizes }: CrashState, locks: SimulatedLocks): SimulatedDriver =>
  new SimulatedDriver(disk, locks, sizes)

const openOn = (disk: Disk, state: CrashState, locks: SimulatedLocks, id: string): HeldSession =>
  driverOn(disk, state, locks).openNow(id, { kind: 'writer' })

/** Takes in what visitors left, writes a little, and closes. */
async function goOn(held: HeldSession, disk: Disk, id: string): Promise<void> {
  if (waiting(disk, pathsOf(id)).length > 0) await held.takeSpool(() => {})
  const appended = held.append({ type: 'probe', json: '{"n":"probe"}' })
  const audited = held.audit({ type: 'note', json: '{"action":"probe"}' })
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
const unkept = (disk: Disk, { report }: HeldSession): string[] =>
  report.cut.flatMap(({ kept, bytes }) =>
    readFile(disk, kept)?.length === bytes ? [] : [`${bytes} bytes were cut off and not kept in ${kept}`],
  )

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
