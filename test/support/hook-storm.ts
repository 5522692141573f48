import { join } from 'node:path'
import { hosts } from '../../src/hooks/hosts/hosts.ts'
import { settingsCommand } from '../../src/hooks/install/command-text.ts'
import { leftoverMs } from '../../src/lease/force.ts'
import { hookEvent, type HookWorld, registered } from './hook-host.ts'
import { hookScript, scriptWords } from './hook-script.ts'
import {
  briefWays,
  type Hold,
  judgeWrites,
  type StormCall,
  type StormVerdict,
  type Way,
  type Write,
} from './hook-storm-verdict.ts'
import { readIfThere } from './read-if-there.ts'
import { isStopped, projectRoot, type Running, until } from './world.ts'

export interface HookStormOptions {
  /** The calls of each session, in their order. */
  ways: readonly (readonly Way[])[]
  /** How long a command that outlives its turn or agent writes at most; it is protected for ten minutes. */
  writesMs: number
  /** The share of hooks about calls that are killed, at any line of the script; none if not given. */
  killedHooks?: number
  /** How long a claim lasts without a sign of life; half an hour if not given. */
  ttlMs?: number
  /** A file that is loaded into each hook. */
  preload?: string
  /** The script that the hooks start, if not the one of this package. */
  script?: string
}

export interface HookStormReport extends StormVerdict {
  calls: number
  /** How many agents were killed in the middle of a command. */
  kills: number
  writes: number
  /** Writes after the turn had ended, or the agent was killed. */
  lateWrites: number
  grants: number
  refusals: number
  /** Hooks that were killed while they ran. */
  killedHooks: number
  /** Stops of an agent for longer than its claim lasts, in a call or between calls. */
  stops: Record<Stop, number>
  /** How many of these sessions lost their claim to another one meanwhile. */
  takenOver: number
  /** Sessions that had two claims on the workspace at once. */
  doubles: string[]
  faults: string[]
}

/** What the witness prints. */
interface Testimony {
  holds: Hold[]
  writes: Write[]
  doubles: string[]
}

type Stop = 'call' | 'between'

/** A line in the log of an agent. */
type LogEntry = Partial<StormCall> & {
  call?: string
  refused?: string
  killedHook?: string
  fault?: string
  /** The agent stops itself, and is to be continued after this time. */
  stopForMs?: number
  /** The process that was stopped; `from` and `until` are milliseconds since the epoch. */
  stop?: Stop
  from?: number
  until?: number
}

const moments = ['prompt', 'pre', 'post', 'stop'] as const

/**
 * Sessions of agents take turns in one workspace, run commands, leave some behind, are interrupted, stopped
 * and killed, and start again. A witness, a process of its own, watches the claims and the writes.
 */
export async function hookStorm(world: HookWorld, options: HookStormOptions): Promise<HookStormReport> {
  const witness = world.start(process.execPath, [
    join(projectRoot, 'test/fixtures/storm-witness.mjs'),
    world.home,
    world.workspace,
  ])
  await until('the witness watches', () => witness.output().stdout.includes('watching'))
  const logs = await Promise.all(
    options.ways.map((ways, at) => playSession(world, `s${at + 1}`, ways, options)),
  )
  witness.child.kill('SIGTERM')
  const { stdout } = await witness.finished
  const seen = JSON.parse(stdout.split('\n')[1] ?? '') as Testimony
  const calls = new Map(logs.flatMap(callsOf))
  const stops = logs.flat().filter((entry) => entry.stop !== undefined && isHolder(entry, seen.holds))
  const isTaken = ({ session, from = 0, until = 0 }: LogEntry): boolean =>
    seen.holds.some((hold) => hold.session !== session && hold.grantedAt > from && hold.grantedAt < until)
  const count = (kind: Stop): number => stops.filter(({ stop }) => stop === kind).length
  const endOf = ({ call }: Write): number => calls.get(call)?.endedAt ?? Number.POSITIVE_INFINITY
  return {
    ...judgeWrites(calls, seen, leftoverMs),
    calls: calls.size,
    kills: [...calls.values()].filter(({ way }) => way === 'killed').length,
    writes: seen.writes.length,
    lateWrites: seen.writes.filter((write) => write.from > endOf(write)).length,
    grants: seen.holds.length,
    refusals: logs.flat().filter(({ refused }) => refused !== undefined).length,
    killedHooks: logs.flat().filter(({ killedHook }) => killedHook !== undefined).length,
    stops: { call: count('call'), between: count('between') },
    takenOver: stops.filter(isTaken).length,
    doubles: seen.doubles,
    faults: logs.flat().flatMap(({ fault }) => fault ?? []),
  }
}

export const stormSummary = (report: HookStormReport): string =>
  `${report.calls} calls, ${report.kills} agents and ${report.killedHooks} hooks killed, ` +
  `${report.stops.call} agents stopped in a call and ${report.stops.between} between calls ` +
  `past the patience (${report.takenOver} lost their claim meanwhile), ${report.grants} grants, ${report.refusals} refusals, ` +
  `${report.writes} writes (${report.lateWrites} after the turn or the agent had ended): ` +
  `${report.violations.length} in the claim of another session; by limits, ${report.outlasting} of commands ` +
  `beyond their bound and ${report.hidden} of hidden ones`

/** Whether a session that was stopped had a claim then, by the last look of the witness. */
const isHolder = ({ session, from = 0 }: LogEntry, holds: readonly Hold[]): boolean =>
  holds.some((hold) => hold.session === session && hold.grantedAt <= from && hold.until > from - 100)

/** Calls of these ways, about as many of each, in random order. */
export function drawWays(count: number, ways: readonly Way[] = briefWays): Way[] {
  const draw = (at: number) => ({ way: ways[at % ways.length] ?? 'plain', order: Math.random() })
  return Array.from({ length: count }, (_, at) => draw(at))
    .toSorted((a, b) => a.order - b.order)
    .map(({ way }) => way)
}

/** Plays a session: continues its agent when it is stopped, and replaces it when it was killed. */
async function playSession(
  world: HookWorld,
  name: string,
  ways: readonly Way[],
  options: HookStormOptions,
): Promise<LogEntry[]> {
  const log = join(world.tmp, `${name}.log`)
  let session = name
  for (let left = ways, run = 1; left.length > 0; run++) {
    const plan = {
      log,
      run: `${name}-${run}`,
      ways: left,
      writesMs: options.writesMs,
      killedHooks: options.killedHooks ?? 0,
      ttlMs: options.ttlMs,
      preload: options.ttlMs ? join(projectRoot, 'test/fixtures/short-ttl.cjs') : options.preload,
    }
    const agent = startAgent(world, session, plan, options)
    const hasEnded = (): boolean => agent.child.exitCode !== null || agent.child.signalCode !== null
    while (!hasEnded()) {
      if (isStopped(agent.pid)) {
        await pause(readLog(log).at(-1)?.stopForMs ?? 0)
        agent.child.kill('SIGCONT')
      }
      await pause(Math.random() * 20)
    }
    const { code, signal, stderr } = await agent.finished
    if (signal !== 'SIGKILL' && code !== 0) throw new Error(`an agent failed: ${stderr}`)
    // Half of the killed agents continue their session, the others begin a new one.
    if (Math.random() < 0.5) session = `${name}-${run}`
    left = ways.slice(callsOf(readLog(log)).length)
  }
  return readLog(log)
}

function startAgent(
  world: HookWorld,
  session: string,
  plan: object,
  { script = hookScript }: HookStormOptions,
): Running {
  const { workspace } = world
  const of = <Value>(make: (moment: (typeof moments)[number]) => Value) =>
    Object.fromEntries(moments.map((moment) => [moment, make(moment)]))
  const words = [script, ...scriptWords.slice(1)]
  // In the settings of a user, the shell becomes the script: so a signal for the hook reaches the script.
  const lines = of((moment) =>
    settingsCommand(hosts.claude, registered('claude', moment), words, { waitMs: 0, undo: false }, 'user'),
  )
  const events = of((moment) => hookEvent('claude', moment, { session, cwd: workspace }))
  return world.start(process.execPath, [
    join(projectRoot, 'test/fixtures/storm-agent.mjs'),
    JSON.stringify({ ...plan, lines, events, workspace }),
  ])
}

const readLog = (path: string): LogEntry[] =>
  readIfThere(path)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogEntry)

/** The calls in a log; each ends with the next end of a turn, or the death of the agent. */
const callsOf = (log: readonly LogEntry[]): [string, StormCall][] =>
  log.flatMap(({ call, session, way }, at): [string, StormCall][] => {
    if (call === undefined || session === undefined || way === undefined) return []
    const end = log.slice(at).find(({ endedAt }) => endedAt !== undefined)
    return [[call, { session, way, ...end }]]
  })

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
