import type { HookChoices } from '../../options.ts'
import { shellWord } from '../../../base/text/escape.ts'
import type { HostEvent } from '../../hosts/host.ts'
import { hosts } from '../../hosts/hosts.ts'
import { type HookCommand, onlyRefusals, readCommand, startWords } from '../settings/command-text.ts'

/** The first and last line of the guard: stint owns them and everything in between. */
const begin =
  '# >>> stint: refuses while another session holds this workspace; `stint hook uninstall git` removes this'
const end = '# <<< stint\n'
const block = new RegExp(`^# >>> stint: .*\\n[^]*?^${end}`, 'm')

export const guardEvents: readonly HostEvent[] = hosts.git.events

/** The name under which a hook is kept that the guard cannot be written into. */
export const asideName = (name: string): string => `${name}.before-stint`

export const guardIn = (script: string): string | undefined => block.exec(script)?.[0]
export const withoutGuard = (script: string): string => script.replace(block, '')

/** Puts the guard first in a script, before any `exit` or `exec`. */
export function withGuard(script: string, guard: string): string {
  if (guardIn(script) !== undefined) return script.replace(block, () => guard)
  const shebang = /^#!.*(?:\n|$)/.exec(script)?.[0] ?? ''
  const first = shebang === '' || shebang.endsWith('\n') ? shebang : `${shebang}\n`
  return first + guard + script.slice(shebang.length)
}

/** A new script: the guard, then `after`. */
export const newScript = (guard: string, after = ''): string => `#!/bin/sh\n${guard}${after}`

/** The line that runs the hook that was moved aside, if git would have run it. */
export const runAside = (name: string): string => {
  const aside = `"\${0%/*}"/${asideName(name)}`
  return `if [ -x ${aside} ]; then exec ${aside} "$@"; fi\n`
}

/** The guard in portable shell; it works whether or not the script around it uses `set -e`. */
export function guardText(
  event: HostEvent,
  program: readonly string[],
  choices: Pick<HookChoices, 'failClosed'>,
): string {
  const check = `(set +e; ${gitCheckLine(event, startWords(program), choices)})`
  const lines =
    event.name === 'reference-transaction'
      ? transactionCheck(check)
      : `${check} </dev/null${event.kind === 'pre' ? ' || exit 1' : ''}\n`
  return `${begin}\n${lines}${end}`
}

/**
 * The command of a git hook. It refuses if stint-hook exits with 2, and not if stint-hook cannot be started.
 * git runs `reference-transaction` three times for a change; only `prepared`, which can refuse, starts Node.
 */
export function gitCheckLine(
  event: HostEvent,
  program: readonly string[],
  choices: Pick<HookChoices, 'failClosed'> = {},
): string {
  const words = [...program, 'git', event.name].map(shellWord).join(' ')
  // The rest of a hook that only tells must still run.
  if (event.kind === 'post') return `${words} "$@" || :`
  const refuse = choices.failClosed ? ' || exit 1' : onlyRefusals
  const check = `${words} "$@"${choices.failClosed ? ' --fail-closed' : ''}${refuse}`
  return event.name === 'reference-transaction'
    ? `if [ "$1" = prepared ] && ${isNoPacking}; then ${check}; fi`
    : check
}

/** `git gc`, also after a fetch, runs the hook once for each branch that it packs and leaves as it is. */
const isNoPacking = String.raw`case $(tr '\0' ' ' 2>/dev/null </proc/$PPID/cmdline) in git\ pack-refs\ * | /*/git\ pack-refs\ *) false ;; esac`

/**
 * git lists the changed refs on stdin, and the rest of the hook must be able to read them as well. A process
 * is started only for a change of a branch or the stash and before a merge, not for a fetch.
 */
const transactionCheck = (check: string): string => `stint_refs=$(cat)
case $stint_refs in
*' HEAD'* | *' refs/heads/'* | *' refs/stash'* | *' ORIG_HEAD'*)
${check} <<STINT || exit 1
$stint_refs
STINT
;;
esac
exec <<STINT
$stint_refs
STINT
`

/** The command with which a guard starts stint-hook; undefined if the guard was edited. */
export function commandIn(guard: string): HookCommand | undefined {
  const line = /\(set \+e; (?:if \[ "\$1" = prepared .*?; then )?([^]*? git [\w-]+) "\$@"/.exec(guard)?.[1]
  return line === undefined ? undefined : readCommand(line)
}

/** True if the guard can be written into it: a POSIX shell script, or one that git runs with sh itself. */
export const isShellScript = (script: string): boolean =>
  !script.includes('\0') &&
  (!script.startsWith('#!') || /^#!\s*\S*(?:\/|\benv (?:-S )?)(?:ba|da|k|z|a)?sh\b/.test(script))
