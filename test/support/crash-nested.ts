import type { Recovery, SessionLog } from '../../src/session/session-log.ts'
import { pathsOf, SimulatedMedium } from './crash-driver.ts'
import { factsOf, findingsOf } from './crash-facts.ts'
import { crashesOf, CrashWatch, type Found, judgeStates, type SearchOptions } from './crash-search.ts'
import { Simulation, type Wrap } from './crash-simulation.ts'
import { allLost } from './crash-states.ts'
import { afterResume, id, type Workload } from './crash-workloads.ts'
import { type Disk, readFile } from '../../src/base/fs/disk.ts'
import { changingCalls } from './crash-disk.ts'
import type { SimulatedLocks } from './crash-locks.ts'
import { mortal, passThrough } from './crash-mortal.ts'
import type { CommitWay } from './later-turns.ts'

/**
 * Tries some crashes of a workload, and after each of them every crash of a second workload, its recovery
 * included.
 */
export async function searchResumed(
  workload: Workload,
  options: SearchOptions & { picks: number },
  then: Workload = afterResume,
): Promise<Found> {
  const { states, oracles } = await crashesOf(workload, options)
  const found: Found = { points: 0, states: 0, violations: [] }
  const there = states.filter(({ disk }) => readFile(disk, pathsOf(id).manifest) !== undefined)
  for (const [i, crashed] of spread(there, options.picks).entries()) {
    const disk = allLost(crashed.disk)
    const lock = crashed.locks[i % crashed.locks.length]
    const oracle = oracles.get(id)?.crashedAt(crashed.at, () => disk.changes)
    if (lock === undefined || oracle === undefined) continue
    const simulation = new Simulation({
      disk,
      locks: lock.seenAs('dead'),
      sizes: workload.sizes,
      oracles: new Map([[id, oracle]]),
      way: options.way,
    })
    merge(found, await watched(simulation, then, options), `crash after change ${crashed.at}, then `)
  }
  return found
}

/**
 * Kills the process of a workload at each of its changes, while the machine runs on, and cuts the power at
 * each change of the process after it. `wrap` is for the second process.
 */
export async function searchKilled(
  workload: Workload,
  options: SearchOptions & { every: number },
): Promise<Found> {
  const found: Found = { points: 0, states: 0, violations: [] }
  for (let kill = Math.ceil(options.every / 2); ; kill += options.every) {
    const life = mortal(kill)
    const first = new Simulation({ wrap: life.wrap, sizes: workload.sizes, way: options.way })
    life.onDeath = () => first.oracles.forEach((oracle) => (oracle.deaf = true))
    await workload.run(first).catch(() => {})
    await first.end()
    if (!life.isDead()) return found
    const { disk } = first
    if (readFile(disk, pathsOf(id).manifest) === undefined) continue
    const oracle = first.oracle(id).crashedAt(disk.changes, () => disk.changes)
    const second = new Simulation({
      disk,
      wrap: options.wrap,
      locks: first.locks.seenAs('dead'),
      sizes: workload.sizes,
      oracles: new Map([[id, oracle]]),
      way: options.way,
    })
    merge(found, await watched(second, afterResume, options), `killed at change ${kill}, then `)
    if (options.first && found.violations.length > 0) return found
  }
}

/** Picks this many items at equal distances. */
const spread = <T>(items: readonly T[], count: number): readonly T[] =>
  count >= items.length
    ? items
    : Array.from({ length: count }, (_, i) => items[Math.floor(((i + 0.5) * items.length) / count)] as T)

async function watched(simulation: Simulation, workload: Workload, options: SearchOptions): Promise<Found> {
  const watch = new CrashWatch(simulation, options.bounds)
  const failure = await workload.run(simulation).then(
    () => [],
    (error: Error) => [`it does not resume: ${error.message}`],
  )
  watch.look()
  watch.stop()
  await simulation.end()
  const judged = await judgeStates(watch.states, simulation.oracles, options)
  return { points: watch.points, states: judged.states, violations: [...failure, ...judged.violations] }
}

/**
 * Takes a session over before each change of a writer that only seems to be dead. The writer is suspended
 * there; the heir takes the lock, opens the session and writes; the writer wakes up and runs until it
 * notices; the heir writes again. With `opensLate`, the heir opens the session only after the writer has
 * woken up.
 */
export async function searchTakeovers(
  workload: Workload,
  opensLate: boolean,
  every = 1,
  way?: CommitWay,
  mutate: (locks: SimulatedLocks, writer: SuspendedWriter) => void = () => {},
): Promise<Found> {
  const found: Found = { points: 0, states: 0, violations: [] }
  for (let stop = 0; ; stop += every) {
    const writer = new SuspendedWriter()
    const simulation = new Simulation({ wrap: writer.wrap, sizes: workload.sizes, way })
    const { disk, locks, sizes } = simulation
    mutate(locks, writer)
    const medium = new SimulatedMedium(disk, locks, sizes)
    const hold = { kind: 'writer' } as const
    let heir: (() => Promise<SessionLog>) | undefined
    let acknowledged: string[] = []
    const takeOver = async (): Promise<void> => {
      locks.life = 'silent'
      acknowledged = namesHeard(simulation)
      const acquired = medium.acquire(id, hold)
      locks.life = 'alive'
      let held: Promise<SessionLog> | undefined
      heir = () => (held ??= medium.openLog(id, hold, acquired))
      if (opensLate) return
      // A fault that the workload has ordered is one of the writer's.
      const { before } = disk
      disk.before = undefined
      await write(await heir(), 'heir 1')
      disk.before = before
    }
    writer.beforeChange = () => {
      if (heir !== undefined || disk.changes < stop || locks.look(id)?.holder === undefined) return undefined
      return readFile(disk, pathsOf(id).manifest) === undefined ? undefined : takeOver()
    }
    await workload.run(simulation).catch(() => {})
    if (heir === undefined) return found
    found.points += 1
    found.states += 1
    found.violations.push(
      ...(await ending(simulation, heir, acknowledged)).map(
        (what) => `taken over before change ${stop}: ${what}`,
      ),
    )
    await simulation.end()
  }
}

/** A writer that can be suspended before each of its changes to the disk, while others go on. */
export class SuspendedWriter {
  /** Called before each change; the writer is suspended until the promise that it returns is settled. */
  beforeChange: () => Promise<void> | undefined = () => undefined
  /** Called before each write, and before the writer is suspended. */
  readonly beforeWrites: (() => void)[] = []

  readonly wrap: Wrap = (disk) => {
    const wrapped: Disk = passThrough(disk)
    for (const call of changingCalls) {
      const real = disk[call].bind(disk) as (...args: unknown[]) => unknown
      const suspended = (...args: unknown[]): unknown => {
        if (call === 'write') for (const act of this.beforeWrites) act()
        const pause = this.beforeChange()
        return pause === undefined ? real(...args) : pause.then(() => real(...args))
      }
      Object.assign(wrapped, { [call]: suspended })
    }
    return wrapped
  }
}

async function ending(
  simulation: Simulation,
  heir: () => Promise<SessionLog>,
  acknowledged: string[],
): Promise<string[]> {
  const { disk } = simulation
  try {
    const held = await heir()
    const written = write(held, 'heir 2')
    await held.release()
    await written
    const medium = new SimulatedMedium(disk, simulation.locks, simulation.sizes)
    const { recovered, manifest } = await medium.openLog(id, { kind: 'writer' })
    const { journal, audit } = await factsOf(disk, id, manifest, (recovered as Recovery).state)
    const names = new Set([...journal, ...audit])
    const heirs = ['heir 2', 'note heir 2', ...(names.has('heir 1') ? ['heir 1', 'note heir 1'] : [])]
    const lost = [...acknowledged, ...heirs].filter((name) => !names.has(name))
    const late = journal
      .slice(journal.findIndex((name) => name.startsWith('heir')))
      .filter((name) => !name.startsWith('heir'))
    return [
      ...lost.map((name) => `${name} is lost`),
      ...late.map((name) => `${name} came in after the heir`),
      ...namesHeard(simulation)
        .filter((name) => !names.has(name))
        .map((name) => `${name}, acknowledged to the old writer, is lost`),
      ...(await findingsOf(disk, id, manifest)),
    ]
  } catch (error) {
    return [`the heir fails: ${(error as Error).message}`]
  }
}

async function write(held: SessionLog, n: string): Promise<void> {
  await Promise.allSettled([
    held.append('journal', { type: 'message', json: JSON.stringify({ n }) }),
    held.append('audit', { type: 'note', json: JSON.stringify({ action: n }) }),
    held.snapshot(),
  ])
}

const namesHeard = (simulation: Simulation): string[] => {
  const { journal, audit } = simulation.oracle(id)
  return [...journal, ...audit].flatMap(({ name, acknowledged }) =>
    acknowledged === undefined ? [] : [name],
  )
}

function merge(found: Found, more: Found, prefix: string): void {
  found.points += more.points
  found.states += more.states
  found.violations.push(...more.violations.map((what) => prefix + what))
}
