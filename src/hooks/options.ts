import { parseDuration } from '../base/text/duration.ts'
import type { HostName } from './hosts/host.ts'
import { hosts, isHostName } from './hosts/hosts.ts'

/** The claim that a tool call needs: on the whole workspace, or only on the files it edits. */
export type Scope = 'workspace' | 'paths'

/** The choices a user makes when installing hooks. */
export interface HookChoices {
  scope?: Scope
  /** How long a session keeps its claim: to the end of its turn, or to its own end. */
  hold?: 'turn' | 'session'
  /** Whether subagents share the claim of their session, or have one each and exclude each other. */
  subagents?: 'together' | 'apart'
  /** How long a call waits for a workspace that another session holds, in milliseconds; 0: not at all. */
  waitMs?: number
  /** A hook that fails, or cannot be started, blocks the call. */
  failClosed?: boolean
  /** Each tool call is recorded in the session's journal and audit log. */
  record?: boolean
  /** A claim shows the first words of the prompt that its session works on; true by default. */
  prompts?: boolean
  /** Restore points are taken when a turn begins and ends; true by default. */
  undo?: boolean
}

/** What the hooks do if their user makes no choice. */
export const defaultChoices: Readonly<Required<HookChoices>> = {
  scope: 'workspace',
  hold: 'turn',
  subagents: 'together',
  waitMs: 20_000,
  failClosed: false,
  record: false,
  prompts: true,
  undo: true,
}

/** The command line of `stint-hook`. */
export interface HookOptions extends Required<HookChoices> {
  agent: HostName
  /** For hosts that do not name the event in its JSON. */
  event: string | undefined
  /** The words that git passes on: the hook's name and its arguments. */
  words: string[]
}

export const usage =
  `usage: stint-hook <${Object.keys(hosts).join('|')}> [--scope workspace|paths] ` +
  '[--hold turn|session] [--subagents together|apart] [--wait D] [--fail-closed] [--record] ' +
  '[--no-prompts] [--no-undo] [--event NAME]'

/**
 * Parses the command line; undefined if it is invalid. A command without `--wait` does not wait, as the time
 * limit in its agent's settings may be short, and a hook that is ended by its agent refuses nothing.
 */
export function parseOptions(args: readonly string[]): HookOptions | undefined {
  const [agent, ...rest] = args
  if (!isHostName(agent)) return undefined
  const options: HookOptions = { agent, event: undefined, words: [], ...defaultChoices, waitMs: 0 }
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ''
    if (word === '--') return { ...options, words: [...options.words, ...rest.slice(at + 1)] }
    if (word === '--fail-closed') options.failClosed = true
    else if (word === '--record') options.record = true
    else if (word === '--no-prompts') options.prompts = false
    else if (word === '--no-undo') options.undo = false
    else if (!word.startsWith('--')) options.words.push(word)
    else if (!setValue(options, word, rest[++at])) return undefined
  }
  return options
}

function setValue(options: HookOptions, name: string, value: string | undefined): boolean {
  if (value === undefined) return false
  if (name === '--event') options.event = value
  else if (name === '--scope' && (value === 'workspace' || value === 'paths')) options.scope = value
  else if (name === '--hold' && (value === 'turn' || value === 'session')) options.hold = value
  else if (name === '--subagents' && (value === 'together' || value === 'apart')) options.subagents = value
  else {
    const ms = name === '--wait' ? parseDuration(value) : undefined
    if (ms === undefined) return false
    options.waitMs = ms
  }
  return true
}
