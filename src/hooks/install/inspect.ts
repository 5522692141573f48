import { join } from 'node:path'
import type { HookChoices } from '../options.ts'
import { explained } from '../../base/errors/if-possible.ts'
import { codedError, StintError } from '../../base/errors/stint-error.ts'
import { lstatIfExists } from '../../base/fs/exists.ts'
import type { SettingsAgentName, TargetName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import type { InstallPlace } from './agents.ts'
import { commandIn, guardEvents, guardIn, guardText } from './guard.ts'
import { shimFile } from './shim.ts'
import type { OwnFile } from './change.ts'
import { isExecutable } from './own-program.ts'
import { hostSettings } from './agents.ts'
import { openCodePlugin } from './opencode-plugin.ts'
import { choicesOf } from './command-text.ts'
import { findHandlers, missingTools } from './edit-hooks.ts'
import { decode, readSettingsFile } from './settings-file.ts'
import type { HookTarget } from './target.ts'

/** The hooks of stint in one target. */
export interface Installation {
  agent: TargetName
  place: InstallPlace
  path: string
  /** `incomplete`: hooks or tools in matchers are missing. `edited`: they are not as stint writes them. */
  state: 'installed' | 'absent' | 'incomplete' | 'edited' | 'unreadable'
  /** A description of what is wrong. */
  problem?: string
  /** The command line, or the path of the script or plugin, for each event. */
  commands: { event: string; text: string }[]
  program: string[]
  choices: HookChoices
}

/** What is wrong with an installation. */
export interface Problem {
  problem: string
  /** The command or action that solves it. */
  fix: string
}

/** Reads the hooks of a target; changes nothing. */
export function inspect(target: HookTarget): Installation {
  const { agent, place, path } = target
  const nothing = { agent, place, path, commands: [], program: [], choices: {} }
  try {
    if (target.kind === 'git') return { ...nothing, ...inspectGuard(path) }
    if (target.kind === 'plugin') return { ...nothing, ...inspectOwnFile(path, 'plugin', openCodePlugin) }
    if (target.kind === 'shim') return { ...nothing, ...inspectOwnFile(path, 'shim', shimFile) }
    return { ...nothing, ...inspectSettings(target) }
  } catch (error) {
    if (!(error instanceof StintError)) throw error
    return { ...nothing, state: 'unreadable', problem: error.message }
  }
}

type Part = Pick<Installation, 'state'> & Partial<Installation>

function inspectSettings({ agent, path }: Extract<HookTarget, { kind: 'settings' }>): Part {
  const file = readSettingsFile(path)
  if (!file.bytes?.includes('stint-hook')) return { state: 'absent' }
  const { events } = hosts[agent]
  const pre = events.find(({ kind }) => kind === 'pre')?.name
  // The handler that can refuse a call comes first: the doctor tries that one.
  const ours = findHandlers(decode(file.bytes), agent).toSorted(
    (a, b) => Number(b.event === pre) - Number(a.event === pre),
  )
  const [first] = ours
  if (first === undefined)
    return { state: 'edited', problem: 'it names stint-hook, but not in a command as stint writes it' }
  const hooks = {
    commands: ours.map(({ event, text }) => ({ event, text })),
    program: first.command.program,
    choices: Object.assign({}, ...ours.map(({ command }) => choicesOf(command))) as HookChoices,
  }
  const missing = events.filter(
    ({ name, forRecord }) =>
      !ours.some(({ event }) => event === name) && (!forRecord || hooks.choices.record === true),
  )
  const unguarded = ours.flatMap(({ event, item: { matcher } }) =>
    missingTools(matcher, events.find(({ name }) => name === event)?.matcher),
  )
  return judge(hooks, [
    ['there is no hook for', missing.map(({ name }) => name)],
    ['it does not guard', unguarded],
  ])
}

/** The state of hooks, by the lists of what they lack. */
function judge(hooks: Partial<Installation>, gaps: readonly [what: string, items: string[]][]): Part {
  const problems = gaps.filter(([, items]) => items.length > 0)
  if (problems.length === 0) return { state: 'installed', ...hooks }
  const problem = problems.map(([what, items]) => `${what} ${[...new Set(items)].join(', ')}`).join('; ')
  return { state: 'incomplete', problem, ...hooks }
}

function inspectGuard(directory: string): Part {
  const guards = guardEvents.flatMap((event) => {
    const path = join(directory, event.name)
    const guard = guardIn(readSettingsFile(path).bytes?.toString() ?? '')
    return guard === undefined ? [] : [{ event, guard, path }]
  })
  const [first] = guards
  if (first === undefined) return { state: 'absent' }
  const commands = guards.map(({ event, path }) => ({ event: event.name, text: path }))
  const command = commandIn(first.guard)
  const program = command?.program ?? []
  const choices = first.guard.includes(' --fail-closed') ? { failClosed: true } : {}
  const hooks = { commands, program, choices }
  if (guards.some(({ event, guard }) => guard !== guardText(event, program, choices)))
    return { state: 'edited', problem: 'the guard differs from what this version of stint writes', ...hooks }
  const missing = guardEvents.filter(({ name }) => !guards.some(({ event }) => event.name === name))
  const dead = guards.filter(({ path }) => !isExecutable(path))
  return judge(hooks, [
    ['there is no guard in', missing.map(({ name }) => name)],
    ['git does not run hooks that are not executable:', dead.map(({ path }) => path)],
  ])
}

function inspectOwnFile(path: string, event: 'plugin' | 'shim', file: OwnFile): Part {
  const isThere = explained(
    (error) => codedError(error, `read ${path}`),
    // Also false if the home is a file.
    () => lstatIfExists(path) !== undefined,
  )
  const text = isThere ? (readSettingsFile(path).bytes?.toString() ?? '') : ''
  if (!text.startsWith(file.firstLines)) return { state: 'absent' }
  const { program, choices } = file.read(text)
  const hooks = { commands: [{ event, text: path }], program, choices }
  if (text !== file.write(program, choices))
    return {
      state: 'edited',
      problem: `the ${event} differs from what this version of stint writes`,
      ...hooks,
    }
  const isDead = file.mode !== undefined && !isExecutable(path)
  return judge(hooks, [['it is not executable:', isDead ? [path] : []]])
}

/** True for the script before git on PATH, which is for all repositories of the user. */
export const isShim = ({ commands }: Pick<Installation, 'commands'>): boolean => commands[0]?.event === 'shim'

/** Why the agent ignores this file, which it does silently; undefined if the agent can read it. */
export function unreadableBy(agent: SettingsAgentName, bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined || hostSettings[agent].strict === undefined) return undefined
  try {
    JSON.parse(decode(bytes))
    return undefined
  } catch {
    return `${hosts[agent].title} cannot read a file with comments or trailing commas, and ignores all of its settings`
  }
}
