import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { HostEvent } from '../../hosts/host.ts'
import { codedError, StintError } from '../../../base/errors/stint-error.ts'
import { type Change, exclusively, type HookWriting } from '../change.ts'
import {
  checkWritable,
  readSettingsFile,
  unlinkIfExists,
  writeSettingsFile,
} from '../settings/settings-file.ts'
import {
  asideName,
  guardEvents,
  guardIn,
  guardText,
  isShellScript,
  newScript,
  runAside,
  withGuard,
  withoutGuard,
} from './guard-text.ts'
import type { GuardTarget } from '../target.ts'

/** Puts the guard into the hooks of a repository, before their own code. */
export const installGuard = (
  target: GuardTarget,
  { program, choices, dryRun }: HookWriting,
): Promise<Change[]> =>
  forEachHook(target, dryRun, () => {
    const chosen = choices()
    return (event) => planInstall(target, event, guardText(event, program, chosen))
  })

/** Removes the guard, and moves a hook that was aside back to its name. */
export const uninstallGuard = (target: GuardTarget, dryRun: boolean): Promise<Change[]> =>
  forEachHook(target, dryRun, () => (event) => planUninstall(target, event))

interface Plan {
  change: Change
  /** The rename that moves a foreign hook aside, or back. */
  move?: { from: string; to: string }
}

async function forEachHook(
  { path: directory }: GuardTarget,
  dryRun: boolean,
  planner: () => (event: HostEvent) => Plan,
): Promise<Change[]> {
  const change = (carry: (plan: Plan) => Change): Change[] => {
    const plan = planner()
    return guardEvents.map((event) => carry(plan(event)))
  }
  return dryRun ? change(({ change }) => change) : exclusively(directory, () => change(carryOut))
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

function carryOut({ change, move }: Plan): Change {
  const { path, outcome, after } = change
  if (outcome === 'unchanged' || outcome === 'absent') return change
  try {
    if (move !== undefined) renameSync(move.from, move.to)
    else if (after === undefined) unlinkIfExists(path)
    if (after !== undefined) writeSettingsFile(readSettingsFile(path), after, 0o755)
  } catch (error) {
    throw codedError(error, `write ${path}`)
  }
  return change
}
