import { shellWord } from '../base/text/escape.ts'
import type { HookChoices } from './choices.ts'
import type { Host, HostEvent } from './hosts.ts'

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

/**
 * The line for a git hook, a POSIX script: it refuses when stint-hook does, with exit code 2, and not when that cannot even be started.
 * git runs `reference-transaction` three times a change; only `prepared` can still refuse, and only for it is a process started.
 */
export function gitCheckLine(
  event: HostEvent,
  program: readonly string[],
  choices: Pick<HookChoices, 'failClosed'> = {},
): string {
  const words = [...program, 'git', event.name].map(shellWord).join(' ')
  const refuse = choices.failClosed ? ' || exit 1' : onlyNo
  const check = `${words} "$@"${choices.failClosed ? ' --fail-closed' : ''}${refuse}`
  return event.name === 'reference-transaction' ? `if [ "$1" = prepared ]; then ${check}; fi` : check
}
