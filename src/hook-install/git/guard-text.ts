import type { HookChoices } from '../../hook/options.ts'
import { shellWord } from '../../base/text/escape.ts'
import { hosts, type HostEvent } from '../../hook/hosts.ts'
import { type HookCommand, onlyNo, readCommand, started } from '../settings/command-text.ts'

/** Around what we put into a hook: all between them, and they themselves, is ours. */
const begin =
  '# >>> stint: refuses while another session holds this workspace; `stint hook uninstall git` removes this'
const end = '# <<< stint\n'
const block = new RegExp(`^# >>> stint: .*\\n[^]*?^${end}`, 'm')

export const guardEvents: readonly HostEvent[] = hosts.git.events

/** What is run before a hook that is no script of ours to write into, or that git would not run. */
export const asideName = (name: string): string => `${name}.before-stint`

export const guardIn = (script: string): string | undefined => block.exec(script)?.[0]
export const withoutGuard = (script: string): string => script.replace(block, '')

/** Puts the guard before everything else in a script, where no `exit` or `exec` of it comes first. */
export function withGuard(script: string, guard: string): string {
  if (guardIn(script) !== undefined) return script.replace(block, () => guard)
  const shebang = /^#!.*(?:\n|$)/.exec(script)?.[0] ?? ''
  const first = shebang === '' || shebang.endsWith('\n') ? shebang : `${shebang}\n`
  return first + guard + script.slice(shebang.length)
}

/** A script that is only the guard, and what it does after it. */
export const newScript = (guard: string, after = ''): string => `#!/bin/sh\n${guard}${after}`

/** Runs what was moved aside, if it is something that git would have run. */
export const runAside = (name: string): string => {
  const aside = `"\${0%/*}"/${asideName(name)}`
  return `if [ -x ${aside} ]; then exec ${aside} "$@"; fi\n`
}

/** Made of nothing that only some shells know, and whether or not the script around it ends at the first failure. */
export function guardText(
  event: HostEvent,
  program: readonly string[],
  choices: Pick<HookChoices, 'failClosed'>,
): string {
  const check = `(set +e; ${gitCheckLine(event, started(program), choices)})`
  const lines =
    event.name === 'reference-transaction' ? transactionCheck(check) : `${check} </dev/null || exit 1\n`
  return `${begin}\n${lines}${end}`
}

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

/**
 * git says on stdin which refs change, and whoever comes after us must be able to read it, too. A process is started only for what moves a
 * branch: not for a fetch.
 */
const transactionCheck = (check: string): string => `stint_refs=$(cat)
case $stint_refs in
*' HEAD'* | *' refs/heads/'*)
${check} <<STINT || exit 1
$stint_refs
STINT
;;
esac
exec <<STINT
$stint_refs
STINT
`

/** How the guard in a script starts stint-hook; undefined if that is no longer as we write it. */
export function commandIn(guard: string): HookCommand | undefined {
  const line = /\(set \+e; (?:if \[ "\$1" = prepared \]; then )?([^]*? git [\w-]+) "\$@"/.exec(guard)?.[1]
  return line === undefined ? undefined : readCommand(line)
}

/** Can the guard be written into it? A script for a POSIX shell, or one for whatever git takes by default, which is that. */
export const isShellScript = (script: string): boolean =>
  !script.includes('\0') &&
  (!script.startsWith('#!') || /^#!\s*\S*(?:\/|\benv (?:-S )?)(?:ba|da|k|z|a)?sh\b/.test(script))
