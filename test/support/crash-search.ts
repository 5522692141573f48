import { type CrashState, checkState } from './crash-check.ts'
import type { SimulatedLocks } from './crash-locks.ts'
import type { Oracle } from './crash-oracle.ts'
import type { Disk } from '../../src/base/fs/disk.ts'
import { Simulation, type Wrap } from './crash-simulation.ts'
import { allLost, type Bounds, crashStates, fingerprint } from './crash-states.ts'
import type { Workload } from './crash-workloads.ts'
import type { CommitWay } from './later-turns.ts'

export interface SearchOptions {
  bounds: Bounds
  /** Where the workload commits; on the event loop by default. */
  way?: CommitWay
  /** Makes the disk whose calls run in the thread pool. */
  pool?: (disk: Disk) => Disk
  /** Put between the store and the disk while the workload runs. */
  wrap?: Wrap
  /** Put between the store and the disk during recovery. */
  wrapRecovery?: Wrap
  /** Check every session of each state, with every possible lock record; otherwise, one of them in turn. */
  thorough?: boolean
  /** Judge only what recovery finds, and do not write to the session after that. */
  quick?: boolean
  /** Without `quick`: write to the session only after every nth state. */
  goOnEvery?: number
  /** Stop at the first violation. */
  first?: boolean
}

/** The result of a search. */
export interface Found {
  /** How many moments power was cut at. */
  points: number
  /** How many disks were recovered. */
  states: number
  violations: string[]
}

/** A disk that a crash may leave, with the lock records that may be left. */
export interface Crashed extends Omit<CrashState, 'locks'> {
  locks: SimulatedLocks[]
}

/**
 * Gathers every state that a crash at any moment of a run may leave, each once for the answers until then.
 */
export class CrashWatch {
  readonly states: Crashed[] = []
  points = 0
  readonly #seen = new Set<string>()
  readonly #simulation: Simulation
  readonly #bounds: Bounds

  constructor(simulation: Simulation, bounds: Bounds) {
    this.#simulation = simulation
    this.#bounds = bounds
    simulation.disk.before = () => this.look()
  }

  look(): void {
    const { disk, sizes, oracles } = this.#simulation
    const locks = this.#simulation.locks.afterCrash()
    this.points += 1
    const heard = [...oracles.values()].map(({ version }) => version).join()
    for (const crashed of crashStates(disk, this.#bounds)) {
      const print = `${heard} ${fingerprint(crashed)}`
      if (this.#seen.has(print)) continue
      this.#seen.add(print)
      this.states.push({ disk: crashed, locks, at: disk.changes, sizes })
    }
  }

  stop(): void {
    this.#simulation.disk.before = undefined
  }
}

/** Runs a workload, and recovers from a crash at each of its changes. */
export async function search(workload: Workload, options: SearchOptions): Promise<Found> {
  const { states, points, oracles } = await crashesOf(workload, options)
  return { points, ...(await judgeStates(states, oracles, options)) }
}

/** Runs a workload, and returns every state that a crash may leave. */
export async function crashesOf(
  workload: Workload,
  { bounds, wrap, way, pool }: SearchOptions,
): Promise<{ states: Crashed[]; points: number; oracles: Map<string, Oracle> }> {
  const simulation = new Simulation({ wrap, sizes: workload.sizes, way, pool })
  const watch = new CrashWatch(simulation, bounds)
  await workload.run(simulation)
  watch.look()
  watch.stop()
  await simulation.end()
  return { states: watch.states, points: watch.points, oracles: simulation.oracles }
}

/** Recovers each state, with the lock records that may be left. */
export async function judgeStates(
  states: readonly Crashed[],
  oracles: ReadonlyMap<string, Oracle>,
  { wrapRecovery, thorough, quick = false, goOnEvery = 1, first }: SearchOptions,
): Promise<Omit<Found, 'points'>> {
  const found = { states: 0, violations: [] as string[] }
  for (const [i, crashed] of states.entries()) {
    const turns = <T>(all: readonly T[]): readonly T[] =>
      thorough ? all : all.slice(i % all.length, (i % all.length) + 1)
    for (const each of turns(crashed.locks)) {
      for (const [id, oracle] of turns([...oracles])) {
        const state = {
          ...crashed,
          disk: allLost(crashed.disk),
          locks: each.seenAs('dead'),
          wrap: wrapRecovery,
          quick: quick || i % goOnEvery > 0,
        }
        const { violations } = await checkState(state, id, oracle)
        found.states += 1
        found.violations.push(...violations.map((what) => `crash after change ${crashed.at}, ${id}: ${what}`))
        if (first && violations.length > 0) return found
      }
    }
  }
  return found
}

/** Prints how much was searched; returns up to ten distinct violations. */
export function report(name: string, ...found: Found[]): string[] {
  const [points, states] = [sum(found, 'points'), sum(found, 'states')]
  const violations = new Set(found.flatMap((each) => each.violations))
  console.log(`${name}: ${states} states after ${points} crashes, ${violations.size} faults`)
  return states < 10 * found.length ? ['there was nothing to search'] : [...violations].slice(0, 10)
}

const sum = (found: readonly Found[], what: 'points' | 'states'): number =>
  found.reduce((total, each) => total + each[what], 0)
