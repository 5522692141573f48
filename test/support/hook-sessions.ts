import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hookEvent, type HookWorld, lineOf } from './hook-host.ts'
import { scriptWords } from './hook-script.ts'
import { projectRoot, type Running } from './world.ts'

/** The observations of a simulated session. */
export interface SessionReport {
  done: number
  denials: number
  /** The beginnings of the refusals. */
  reasons: string[]
  /** How often another session worked at the same time. */
  overlaps: number
  /** How many commands outlived their call. */
  left: number
  faults: unknown[]
}

const moments = ['pre', 'post', 'stop'] as const

export interface SessionPlan {
  calls: number
  /** The session never leaves its first call, whose command runs for this many seconds. */
  hang?: number
  /** Some commands outlive their call, and the end of their turn. */
  leaves?: boolean
}

/** Starts a process that behaves like a session of Claude Code. */
export function startSession(world: HookWorld, session: string, how: SessionPlan): Running {
  const { workspace } = world
  const of = <Value>(make: (moment: (typeof moments)[number]) => Value) =>
    Object.fromEntries(moments.map((moment) => [moment, make(moment)]))
  const plan = {
    lines: of((moment) => lineOf('claude', moment, {}, scriptWords)),
    events: of((moment) => hookEvent('claude', moment, { session, cwd: workspace })),
    workspace,
    ...how,
  }
  return world.start(process.execPath, [
    join(projectRoot, 'test/fixtures/hook-agent.mjs'),
    JSON.stringify(plan),
  ])
}

/** Runs two sessions at once in one workspace; returns their reports, and the calls in their order. */
export async function twoSessions(
  world: HookWorld,
  how: SessionPlan,
): Promise<{ reports: [SessionReport, SessionReport]; order: string[] }> {
  const both = [startSession(world, 'one', how), startSession(world, 'two', how)]
  const [one, two] = await Promise.all(both.map(({ finished }) => finished))
  const report = (stdout = ''): SessionReport => JSON.parse(stdout) as SessionReport
  const order = readFileSync(join(world.workspace, 'calls.txt'), 'utf8').trim().split('\n')
  return { reports: [report(one?.stdout), report(two?.stdout)], order }
}
