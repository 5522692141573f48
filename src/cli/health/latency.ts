import { availableParallelism, loadavg } from 'node:os'
import { systemClock } from '../../base/process/clock.ts'
import { runProgram } from '../../base/process/run-program.ts'

/** Percentiles of measured times, in milliseconds. */
export interface Latency {
  p50_ms: number
  p95_ms: number
  runs: number
}

/** The sample that `part` (0 to 1) of all samples do not exceed. */
export function percentile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? 0
}

const tenth = (ms: number): number => Math.round(ms * 10) / 10

/** Measures each function, in turn, so that other load on the machine affects all of them alike. */
export async function measure<Name extends string>(
  runs: number,
  acts: Readonly<Record<Name, () => Promise<unknown>>>,
  onRun: (done: number) => void = () => {},
): Promise<Record<Name, Latency>> {
  const names = Object.keys(acts) as Name[]
  const samples = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let run = 0; run < runs; run++) {
    onRun(run)
    for (const name of names) {
      const before = systemClock.mono()
      await acts[name]()
      samples[name].push(systemClock.mono() - before)
    }
  }
  const latency = (name: Name): Latency => ({
    p50_ms: tenth(percentile(samples[name], 0.5)),
    p95_ms: tenth(percentile(samples[name], 0.95)),
    runs,
  })
  return Object.fromEntries(names.map((name) => [name, latency(name)])) as Record<Name, Latency>
}

/** Runs a process that does nothing: the lower bound for any hook. */
export const idle = (command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<unknown> =>
  runProgram(command, args, { env })

export interface SlowReason {
  reason: string
  fix: string
}

interface Timing {
  /** An empty node without the slowing variables. */
  node: Latency
  /** An empty node with each slowing variable that is set. */
  withVariable: Readonly<Partial<Record<SlowingVariable, Latency>>>
}

/** Variables that can slow down every start of Node. */
export const slowingVariables = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS'] as const
type SlowingVariable = (typeof slowingVariables)[number]

const remedies: Readonly<Record<SlowingVariable, string>> = {
  NODE_OPTIONS: 'start the agent without it',
  NODE_EXTRA_CA_CERTS: 'stint starts hooks without it, so they are not affected',
}

/** Functions that start an empty node: without the slowing variables, and with each one that is set. */
export function emptyNodes(env: NodeJS.ProcessEnv): EmptyNodes {
  const bare = { ...env, ...Object.fromEntries(slowingVariables.map((name) => [name, undefined])) }
  const start = (extra: NodeJS.ProcessEnv) => () => idle(process.execPath, ['-e', '0'], { ...bare, ...extra })
  const starts: EmptyNodes = { node: start({}) }
  for (const name of slowingVariables) if (env[name]) starts[name] = start({ [name]: env[name] })
  return starts
}

type Start = () => Promise<unknown>
type EmptyNodes = { node: Start } & Partial<Record<SlowingVariable, Start>>

/** Explains a slow start of hooks from measured times and the load. */
export function slowReasons(
  { node, withVariable }: Timing,
  load = loadavg()[0] ?? 0,
  cores = availableParallelism(),
): SlowReason[] {
  const variables = slowingVariables.flatMap((name): SlowReason[] => {
    const extra = (withVariable[name]?.p50_ms ?? 0) - node.p50_ms
    if (extra < 5) return []
    return [{ reason: `${name} costs every start of node ${tenth(extra)} ms here`, fix: remedies[name] }]
  })
  const busy = {
    reason: `the machine is busy: a load of ${load.toFixed(1)} on ${cores} cores`,
    fix: 'measure again when it is idle',
  }
  const slow = {
    reason: `an empty node takes ${node.p50_ms} ms to start here`,
    fix: 'a slow disk or a virus scanner may be the cause; a newer Node may start faster',
  }
  return [...variables, ...(load > cores ? [busy] : []), ...(node.p50_ms > 100 ? [slow] : [])]
}
