import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { HookChoices } from '../hook/command-line.ts'
import { type AgentName, hosts } from '../hook/hosts.ts'
import { StintError } from '../primitives/stint-error.ts'
import { choicesOf } from './command-text.ts'
import { findOurs } from './edit-hooks.ts'
import { shapes } from './entry.ts'
import { commandIn, guardEvents, guardIn } from './git/guard-text.ts'
import { isOurPlugin } from './opencode-plugin.ts'
import type { Place } from './place.ts'
import { readRecord } from './record.ts'
import { readSettings } from './settings-file.ts'
import { decode } from './settings-text.ts'
import type { Target } from './target.ts'

/** What of ours is in one place. */
export interface Installation {
  agent: AgentName
  place: Place
  path: string
  /**
   * `lost`: we have installed it here, and it is gone. `incomplete`: some of it is. `edited`: it is there, but not as we write it. `unreadable`: who
   * knows.
   */
  state: 'installed' | 'absent' | 'lost' | 'incomplete' | 'edited' | 'unreadable'
  /** What is wrong, in words. */
  problem?: string
  /** What the host starts for each event, as it stands there. */
  commands: { event: string; text: string }[]
  program: string[]
  choices: HookChoices
}

/** Looks what there is; changes nothing. */
export function inspect(target: Target): Installation {
  const { agent, place, path } = target
  const nothing = { agent, place, path, commands: [], program: [], choices: {} }
  try {
    if (target.kind === 'git') return { ...nothing, ...inspectGuard(path) }
    if (target.kind === 'plugin') return { ...nothing, ...inspectPlugin(path) }
    return { ...nothing, ...inspectSettings(target) }
  } catch (error) {
    if (!(error instanceof StintError)) throw error
    return { ...nothing, state: 'unreadable', problem: error.message }
  }
}

type Part = Pick<Installation, 'state'> & Partial<Installation>

function inspectSettings({ agent, path }: Extract<Target, { kind: 'settings' }>): Part {
  const file = readSettings(path)
  const mentioned = file.bytes?.includes('stint-hook') ?? false
  const lost = readRecord(file.real) !== undefined
  const none: Part = lost
    ? { state: 'lost', problem: 'what was installed here is gone: something has rewritten the file' }
    : { state: 'absent' }
  if (!mentioned) return none
  const ours = findOurs(decode(file.bytes).text, agent, shapes[agent])
  const [first] = ours
  if (first === undefined)
    return { state: 'edited', problem: 'it names stint-hook, but not in a command as stint writes it' }
  const found = {
    commands: ours.map(({ event, text }) => ({ event, text })),
    program: first.command.program,
    choices: Object.assign({}, ...ours.map(({ command }) => choicesOf(command))) as HookChoices,
  }
  const missing = hosts[agent].events.filter(({ name }) => !ours.some(({ event }) => event === name))
  if (missing.length === 0) return { state: 'installed', ...found }
  const names = missing.map(({ name }) => name).join(', ')
  return { state: 'incomplete', problem: `there is no hook for ${names}`, ...found }
}

function inspectGuard(directory: string): Part {
  const guards = guardEvents.flatMap(({ name }) => {
    const { bytes } = readSettings(join(directory, name))
    const guard = guardIn(bytes?.toString('latin1') ?? '')
    return guard === undefined ? [] : [{ name, guard, path: join(directory, name) }]
  })
  const [first] = guards
  if (first === undefined) return { state: 'absent' }
  const commands = guards.map(({ name, path }) => ({ event: name, text: path }))
  const command = commandIn(first.guard)
  const found = {
    commands,
    program: command?.program ?? [],
    choices: first.guard.includes(' --fail-closed') ? { failClosed: true } : {},
  }
  if (command === undefined)
    return { state: 'edited', problem: 'the guard is not as stint writes it', ...found }
  const missing = guardEvents.filter(({ name }) => !guards.some((guard) => guard.name === name))
  const dead = guards.filter(({ path }) => !isExecutable(path))
  if (missing.length > 0)
    return {
      state: 'incomplete',
      problem: `there is no guard in ${missing.map(({ name }) => name).join(', ')}`,
      ...found,
    }
  if (dead.length > 0)
    return {
      state: 'incomplete',
      problem: `git does not run what is not executable: ${dead.map(({ path }) => path).join(', ')}`,
      ...found,
    }
  return { state: 'installed', ...found }
}

function inspectPlugin(path: string): Part {
  const { bytes } = readSettings(path)
  if (bytes === undefined || !isOurPlugin(bytes.toString())) return { state: 'absent' }
  return { state: 'installed', commands: [{ event: 'plugin', text: path }] }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
