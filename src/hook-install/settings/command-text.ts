import { basename, isAbsolute } from 'node:path'
import type { HookChoices } from '../../hook/options.ts'
import { shellWord } from '../../base/text/escape.ts'
import { type AgentName, type Host, type HostEvent, isAgentName } from '../../hook/hosts.ts'
import type { Place } from '../install-scope.ts'

/** A command as it stands in somebody's settings, understood. */
export interface HookCommand {
  /** How stint-hook is started: itself, or node and its path. */
  program: string[]
  agent: AgentName
  /** The rest of its words. */
  flags: string[]
}

/**
 * What goes into the settings. Copilot also reads the project files of Claude Code, and blocks every tool when a command of theirs fails in any
 * way; so there only the exit code that means "no" passes.
 */
export function commandText(
  host: Host,
  event: HostEvent,
  program: readonly string[],
  choices: HookChoices,
  place: Place,
): string {
  // Only a call that is about to happen can be blocked; a failure at the end of a turn must not keep it from ending.
  const failClosed = choices.failClosed === true && event.kind === 'pre'
  const line = commandLine(host, event, started(program), { ...choices, failClosed })
  // Exit code 2 blocks everywhere, also where there is no setting for it: what failed has said so on stderr.
  if (failClosed) return `${line}${orNo}`
  return host.name === 'claude' && place !== 'user' ? `${line}${onlyNo}` : line
}

/** The words after `stint-hook`, always in the same order: hosts know an entry by its command, and trust it by its text. */
const hookArguments = (host: Host, event: HostEvent, choices: HookChoices = {}): string[] => [
  host.name,
  ...(host.namesEvent || host.name === 'git' ? [] : ['--event', event.name]),
  ...(choices.scope === undefined ? [] : ['--scope', choices.scope]),
  ...(choices.hold === undefined ? [] : ['--hold', choices.hold]),
  ...(choices.failClosed ? ['--fail-closed'] : []),
  ...(choices.record ? ['--record'] : []),
]

/**
 * The command for hosts that take a line of shell. `program` is how stint-hook is started: `['/usr/bin/node', '/…/stint-hook.cjs']`. If the
 * host would also block on other exit codes (127: no such command), the line lets only ours through.
 */
export function commandLine(
  host: Host,
  event: HostEvent,
  program: readonly string[],
  choices: HookChoices = {},
): string {
  const words = [...program, ...hookArguments(host, event, choices)].map(shellWord).join(' ')
  return host.onCrash === 'closed' && !choices.failClosed ? `${words}${onlyNo}` : words
}

/** Lets only exit code 2 through, which means "no". Every other failure, such as a node that does not start, has another one. */
export const onlyNo = ' || [ $? -ne 2 ] || exit 2'

/** Node 20 reads these at every start, for 50 ms or more; the hook talks to nobody. */
const withoutCertificates = 'NODE_EXTRA_CA_CERTS='

/** The words that start the program, in front of its arguments. */
export const started = (program: readonly string[]): string[] => [withoutCertificates, ...program]

const orNo = ' || exit 2'
const tails = [onlyNo, orNo]

/** Reads a command back; undefined if it is not one of ours, or is no longer as we write them. */
export function readCommand(text: string): HookCommand | undefined {
  const tail = tails.find((end) => text.endsWith(end)) ?? ''
  const words = shellWords(text.slice(0, text.length - tail.length))
  if (words?.[0] === withoutCertificates) words.shift()
  const at = words?.findIndex((word) => /^stint-hook(\.c?js)?$/.test(basename(word))) ?? -1
  const agent = words?.[at + 1]
  if (words === undefined || at < 0 || !isAgentName(agent)) return undefined
  // Before it stands nothing, or the full path of node: anything else is somebody's own way of starting it.
  if (at > 1 || (at === 1 && !isAbsolute(words[0] ?? ''))) return undefined
  return { program: words.slice(0, at + 1), agent, flags: words.slice(at + 2) }
}

/** What was chosen when it was installed. */
export function choicesOf({ flags }: HookCommand): HookChoices {
  const after = (name: string): string | undefined => flags[flags.indexOf(name) + 1 || flags.length]
  const scope = after('--scope')
  const hold = after('--hold')
  return {
    ...(scope === 'workspace' || scope === 'paths' ? { scope } : {}),
    ...(hold === 'turn' || hold === 'session' ? { hold } : {}),
    ...(flags.includes('--fail-closed') ? { failClosed: true } : {}),
    ...(flags.includes('--record') ? { record: true } : {}),
  }
}

/** Splits a line of plain and single-quoted words, which is all we write; undefined for anything a shell would do more with. */
function shellWords(line: string): string[] | undefined {
  const word = /(?:[\w@%+=:,./-]|'[^']*'|\\')+/y
  const words: string[] = []
  for (let at = 0; at < line.length; at = word.lastIndex) {
    word.lastIndex = at + (words.length > 0 && line[at] === ' ' ? 1 : 0)
    const found = word.exec(line)?.[0]
    if (found === undefined) return undefined
    words.push(found.replaceAll(/'([^']*)'|\\(')/g, '$1$2'))
  }
  return words
}
