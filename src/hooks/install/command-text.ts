import { basename, isAbsolute } from 'node:path'
import { formatDuration } from '../../base/text/duration.ts'
import { shellWord } from '../../base/text/escape.ts'
import type { Host, HostEvent, HostName } from '../hosts/host.ts'
import { isHostName } from '../hosts/hosts.ts'
import { defaultChoices, type HookChoices, parseOptions } from '../options.ts'
import type { InstallPlace } from './agents.ts'

/** A command of a settings file, parsed. */
export interface HookCommand {
  /** The words that start stint-hook: its name, or node and its path, perhaps after the script. */
  program: string[]
  agent: HostName
  /** The remaining words. */
  flags: string[]
}

/**
 * The command line for a settings file. In a project's shared settings, every exit code but 2 becomes 0: of
 * the hosts that run those hooks as well, some block every tool when a command fails in any way.
 */
export function settingsCommand(
  host: Host,
  event: HostEvent,
  program: readonly string[],
  choices: HookChoices,
  place: InstallPlace,
): string {
  // Only a call that is about to run may be blocked: a failure must not keep a turn from ending.
  const failClosed = choices.failClosed === true && event.kind === 'pre'
  const waitMs = event.kind === 'pre' ? (choices.waitMs ?? defaultChoices.waitMs) : undefined
  const line = hookCommand(host, event, startWords(program), { ...choices, failClosed, waitMs })
  // Exit code 2 with a reason on stderr blocks in every host, also in those without a setting for it.
  if (failClosed) return `${line}${orRefuse}`
  if (host.sharesSettings && place !== 'user') return `${line}${onlyRefusals}`
  // The shell that the host starts becomes the script. Otherwise it would start a process, and wait for it.
  return isScript(program[0]) ? `${becomes} ${line}` : line
}

const becomes = 'exec'

/** The words of the choices, in a fixed order: hosts trust a command by its text. `choicesOf` reads them. */
export const choiceFlags = (choices: HookChoices): string[] => [
  ...(choices.scope === undefined ? [] : ['--scope', choices.scope]),
  ...(choices.hold === undefined ? [] : ['--hold', choices.hold]),
  ...(choices.subagents === undefined ? [] : ['--subagents', choices.subagents]),
  ...(choices.waitMs === undefined ? [] : ['--wait', formatDuration(choices.waitMs)]),
  ...(choices.failClosed ? ['--fail-closed'] : []),
  ...(choices.record ? ['--record'] : []),
  ...(choices.prompts === false ? ['--no-prompts'] : []),
  ...(choices.undo === false ? ['--no-undo'] : []),
]

/**
 * The shell command that runs stint-hook; `program` is `['/usr/bin/node', '/…/stint-hook.cjs']` or the like.
 * If the host blocks on other exit codes as well (127: no such command), only exit code 2 passes.
 */
export function hookCommand(
  host: Host,
  event: HostEvent,
  program: readonly string[],
  choices: HookChoices = {},
): string {
  const eventFlag = host.namesEvent ? [] : ['--event', event.name]
  const words = [...program, host.name, ...eventFlag, ...choiceFlags(choices)].map(shellWord).join(' ')
  return host.blocksOnNonzeroExit && !choices.failClosed ? `${words}${onlyRefusals}` : words
}

/** Turns every exit code but 2, a refusal, into 0: a node that does not start must not block the agent. */
export const onlyRefusals = ' || [ $? -ne 2 ] || exit 2'

/** Node 20 reads extra certificates at every start, for 50 ms or more; the hook opens no connection. */
const withoutCertificates = 'NODE_EXTRA_CA_CERTS='

/** The words that start a program, with the variables it needs; the script sets them itself. */
export const startWords = (program: readonly string[]): string[] =>
  isScript(program[0]) ? [...program] : [withoutCertificates, ...program]

const isScript = (word = ''): boolean => isAbsolute(word) && basename(word) === 'stint-hook.sh'

/** Codex and Gemini CLI ignore exit code 2 if stderr is empty; stint's own refusals have a reason there. */
const orRefuse =
  " || { [ $? -eq 2 ] || echo 'stint-hook failed, and --fail-closed refuses the call' >&2; exit 2; }"

const tails = [onlyRefusals, orRefuse]

/** Parses a command; undefined if stint did not write it, or a user edited it. */
export function readCommand(text: string): HookCommand | undefined {
  const tail = tails.find((end) => text.endsWith(end)) ?? ''
  const words = shellWords(text.slice(0, text.length - tail.length))
  if (words?.[0] === withoutCertificates || (words?.[0] === becomes && isScript(words[1]))) words.shift()
  const at = words?.findIndex((word) => /^stint-hook(\.c?js)?$/.test(basename(word))) ?? -1
  const agent = words?.[at + 1]
  if (words === undefined || at < 0 || !isHostName(agent)) return undefined
  // Only the full paths of the script and of node may precede stint-hook: others are wrappers of the user's.
  const before = words.slice(isScript(words[0]) ? 1 : 0, at)
  if (before.length > 1 || before.some((word) => !isAbsolute(word))) return undefined
  return { program: words.slice(0, at + 1), agent, flags: words.slice(at + 2) }
}

/** The choices that a command was installed with; those at their default are left out. */
export function choicesOf({ agent, flags }: Pick<HookCommand, 'agent' | 'flags'>): HookChoices {
  const options = parseOptions([agent, ...choiceFlags({ waitMs: defaultChoices.waitMs }), ...flags])
  const isChosen = (name: keyof HookChoices): boolean =>
    options !== undefined && options[name] !== defaultChoices[name]
  const names = (Object.keys(defaultChoices) as (keyof HookChoices)[]).filter(isChosen)
  return Object.fromEntries(names.map((name) => [name, options?.[name]]))
}

/** A command without its wait, for a trial. */
export const withoutWait = (text: string): string => text.replace(/ --wait \S+/, '')

/** Splits plain and single-quoted words, as stint writes them; undefined if a shell would do more. */
function shellWords(line: string): string[] | undefined {
  const word = /(?:[\w@%+=:,./-]|'[^']*'|\\')+/y
  const words: string[] = []
  for (let at = 0; at < line.length; at = word.lastIndex) {
    word.lastIndex = at + (words.length > 0 && line[at] === ' ' ? 1 : 0)
    const match = word.exec(line)?.[0]
    if (match === undefined) return undefined
    words.push(match.replaceAll(/'([^']*)'|\\(')/g, '$1$2'))
  }
  return words
}
