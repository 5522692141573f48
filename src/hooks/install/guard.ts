import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { codedError, StintError } from '../../base/errors/stint-error.ts'
import { shellWord } from '../../base/text/escape.ts'
import type { HostEvent } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import type { HookChoices } from '../options.ts'
import type { Change, HookWriting } from './change.ts'
import { type HookCommand, onlyRefusals, readCommand, startWords } from './command-text.ts'
import { checkWritable, readSettingsFile, unlinkIfExists, writeSettingsFile } from './settings-file.ts'
import type { GuardTarget } from './target.ts'

/** The first and last line of the guard: stint owns them and everything in between. */
const begin =
  '# >>> stint: refuses while another session holds this workspace; `stint hook uninstall git` removes this'
const end = '# <<< stint\n'
const block = new RegExp(`^# >>> stint: .*\\n[^]*?^${end}`, 'm')

export const guardEvents: readonly HostEvent[] = hosts.git.events

/** The name under which a hook is kept that the guard cannot be written into. */
const asideName = (name: string): string => `${name}.before-stint`

export const guardIn = (script: string): string | undefined => block.exec(script)?.[0]
const withoutGuard = (script: string): string => script.replace(block, '')

/** Puts the guard first in a script, before any `exit` or `exec`. */
function withGuard(script: string, guard: string): string {
  if (guardIn(script) !== undefined) return script.replace(block, () => guard)
  const shebang = /^#!.*(?:\n|$)/.exec(script)?.[0] ?? ''
  const first = shebang === '' || shebang.endsWith('\n') ? shebang : `${shebang}\n`
  return first + guard + script.slice(shebang.length)
}

/** A new script: the guard, then `after`. */
const newScript = (guard: string, after = ''): string => `#!/bin/sh\n${guard}${after}`

/** The line that runs the hook that was moved aside, if git would have run it. */
const runAside = (name: string): string => {
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
const isShellScript = (script: string): boolean =>
  !script.includes('\0') &&
  (!script.startsWith('#!') || /^#!\s*\S*(?:\/|\benv (?:-S )?)(?:ba|da|k|z|a)?sh\b/.test(script))

/** Puts the guard into the hooks of a repository, before their own code. */
export const installGuard = (target: GuardTarget, { program, choices, dryRun }: HookWriting): Change[] =>
  guardEvents.map((event) => carryOut(planInstall(target, event, guardText(event, program, choices)), dryRun))

/** Removes the guard, and moves a hook that was aside back to its name. */
export const uninstallGuard = (target: GuardTarget, dryRun: boolean): Change[] =>
  guardEvents.map((event) => carryOut(planUninstall(target, event), dryRun))

interface Plan {
  change: Change
  /** The rename that moves a foreign hook aside, or back. */
  move?: { from: string; to: string }
}

function planInstall({ path: directory, place }: GuardTarget, event: HostEvent, guard: string): Plan {
  const path = join(directory, event.name)
  const file = readSettingsFile(path)
  const script = file.bytes?.toString('latin1')
  const base = { agent: 'git' as const, place, path, before: file.bytes }
  const write = (outcome: Change['outcome'], text: string): Change => ({
    ...base,
    outcome,
    after: Buffer.from(text, 'latin1'),
  })
  // Latin-1 maps every byte to one character, so the rest of the script keeps its bytes.
  const guardBytes = Buffer.from(guard).toString('latin1')
  const aside = join(directory, asideName(event.name))
  const isAside = lstatSync(aside, { throwIfNoEntry: false }) !== undefined
  // An earlier installation was interrupted after it had moved the hook aside.
  if (script === undefined)
    return { change: write('installed', newScript(guardBytes, isAside ? runAside(event.name) : '')) }
  const present = guardIn(script)
  if (present === guardBytes) return { change: { ...base, outcome: 'unchanged', after: file.bytes } }
  checkWritable(file)
  if (present !== undefined) return { change: write('updated', withGuard(script, guardBytes)) }
  const runs = ((file.stat?.mode ?? 0) & 0o100) !== 0
  // The target of a link is kept elsewhere, perhaps in git, so it is not modified.
  if (runs && isShellScript(script) && canRestore(script, guardBytes) && !lstatSync(path).isSymbolicLink())
    return { change: write('installed', withGuard(script, guardBytes)) }
  if (isAside)
    throw new StintError('NAME_TAKEN', `${path} cannot be moved aside: ${aside} exists already`, {
      hint: 'Remove the file that you no longer need, then try again.',
    })
  return {
    change: write('installed', newScript(guardBytes, runAside(event.name))),
    move: { from: path, to: aside },
  }
}

/** True if removing the guard restores the script. An empty script would look like one that stint made. */
const canRestore = (script: string, guard: string): boolean =>
  script !== newScript('') && withoutGuard(withGuard(script, guard)) === script

function planUninstall({ path: directory, place }: GuardTarget, event: HostEvent): Plan {
  const path = join(directory, event.name)
  const file = readSettingsFile(path)
  const script = file.bytes?.toString('latin1')
  const change = { agent: 'git' as const, place, path, before: file.bytes }
  if (script === undefined || guardIn(script) === undefined)
    return { change: { ...change, outcome: 'absent', after: file.bytes } }
  checkWritable(file)
  const rest = withoutGuard(script)
  const aside = join(directory, asideName(event.name))
  if (
    rest === newScript('', runAside(event.name)) &&
    lstatSync(aside, { throwIfNoEntry: false }) !== undefined
  )
    return { change: { ...change, outcome: 'removed', after: undefined }, move: { from: aside, to: path } }
  const onlyOurs = rest === newScript('') || rest === newScript('', runAside(event.name))
  const after = onlyOurs ? undefined : Buffer.from(rest, 'latin1')
  return { change: { ...change, outcome: 'removed', after } }
}

function carryOut({ change, move }: Plan, dryRun: boolean): Change {
  const { path, outcome, after } = change
  if (dryRun || outcome === 'unchanged' || outcome === 'absent') return change
  try {
    if (move !== undefined) renameSync(move.from, move.to)
    else if (after === undefined) unlinkIfExists(path)
    if (after !== undefined) writeSettingsFile(readSettingsFile(path), after, 0o755)
  } catch (error) {
    throw codedError(error, `write ${path}`)
  }
  return change
}
