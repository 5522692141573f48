import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { projectRoot } from '../support/world.ts'
import type { AgentEvent } from './rig.ts'

/** The fields that came with each event, by agent and event; fields of all occurrences together. */
const fields = new Map<string, Set<string>>()
const variables = new Map<string, readonly string[]>()
const hosts = new Set<string>()
const starts: string[] = []

/** Adds a scene to the report: its events, and the hosts that the agents wanted to talk to. */
export function noteScene(events: readonly AgentEvent[], refused: ReadonlySet<string>): void {
  for (const host of refused) hosts.add(host)
  for (const { agent, json } of events) {
    const key = `${agent} ${json.hook_event_name}`
    fields.set(key, new Set([...(fields.get(key) ?? []), ...Object.keys(json)]))
  }
}

/** Adds the variables that contain the id of the session, in the environment of an agent's commands. */
export function noteVariables(agent: string, names: readonly string[]): void {
  variables.set(agent, names.toSorted())
}

/** Adds how many events of calls an agent has sent, and how many of them have started Node. */
export function noteStarts(agent: string, { sent, byNode }: { sent: number; byNode: number }): void {
  starts.push(`${agent}: ${byNode} of ${sent}`)
}

export function printVersions(): void {
  for (const name of ['claude', 'codex']) {
    const program = join(projectRoot, 'test/agents/node_modules/.bin', name)
    const version = execFileSync(program, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    console.log(`${name}: ${version.trim()}`)
  }
}

/** Prints which events the agents really sent, with their fields, and their session variables. */
export function printReport(): void {
  const rows = [...fields].toSorted().map(([event, names]) => `${event}: ${[...names].toSorted().join(' ')}`)
  const found = [...variables].map(([agent, names]) => `${agent}: ${names.join(' ')}`)
  const refused = [...hosts].toSorted().join(' ')
  const parts = [
    ['events, with their fields', ...rows],
    ['session variables', ...found],
    ['events of calls that have started Node', ...starts],
    ['hosts that the agents asked for, all refused', refused],
  ]
  console.log(parts.map((lines) => lines.join('\n')).join('\n\n'))
}
