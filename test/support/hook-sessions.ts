import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hookEvent, type HookWorld, lineOf } from './hook-host.ts'
import { projectRoot, type Running } from './world.ts'

/** The observations of a simulated session. */
export interface SessionReport {
  done: number
  denials: number
  /** The beginnings of the refusals. */
  reasons: string[]
  /** How often another session worked at the same time. */
  overlaps: number
  faults: unknown[]
}

const moments = ['pre', 'post', 'stop'] as const

/** Starts a process that behaves like a session of Claude Code. */
export function startSession(world: HookWorld, session: string, calls: number, hang = false): Running {
  const { workspace } = world
  const of = <Value>(make: (moment: (typeof moments)[number]) => Value) =>
    Object.fromEntries(moments.map((moment) => [moment, make(moment)]))
  const plan = {
    lines: of((moment) => lineOf('claude', moment)),
    events: of((moment) => hookEvent('claude', moment, { session, cwd: workspace })),
    calls,
    workspace,
    hang,
  }
  return world.start(process.execPath, [
    join(projectRoot, 'test/fixtures/hook-agent.mjs'),
    JSON.stringify(plan),
  ])
}

/** Runs two sessions at once in one workspace; returns their reports, and the calls in their order. */
export async function twoSessions(
  world: HookWorld,
  calls: number,
): Promise<{ reports: [SessionReport, SessionReport]; order: string[] }> {
  const both = [startSession(world, 'one', calls), startSession(world, 'two', calls)]
  const [one, two] = await Promise.all(both.map(({ finished }) => finished))
  const report = (stdout = ''): SessionReport => JSON.parse(stdout) as SessionReport
  const order = readFileSync(join(world.workspace, 'calls.txt'), 'utf8').trim().split('\n')
  return { reports: [report(one?.stdout), report(two?.stdout)], order }
}
