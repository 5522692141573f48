import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { HookChoices } from '../../hook/options.ts'
import type { HostEvent } from '../../hook/hosts.ts'
import { codedError, StintError } from '../../base/errors/stint-error.ts'
import type { Change } from '../change.ts'
import { exclusively } from '../exclusive.ts'
import type { Place } from '../install-scope.ts'
import { checkWritable, readSettings, unlinkIfExists, writeSettings } from '../settings/settings-file.ts'
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

export interface GuardTarget {
  /** The directory git looks in. */
  directory: string
  place: Place
}

export interface GuardOptions extends Pick<HookChoices, 'failClosed'> {
  program: readonly string[]
  dryRun: boolean
}

/** Puts the guard into the hooks of a repository, before what is there already. */
export const installGuard = (target: GuardTarget, options: GuardOptions): Promise<Change[]> =>
  forEachHook(target, options.dryRun, (event) => planInstall(target, event, options))

/** Takes it out again; what was there before us stays, to the byte. */
export const uninstallGuard = (target: GuardTarget, dryRun: boolean): Promise<Change[]> =>
  forEachHook(target, dryRun, (event) => planUninstall(target, event))

interface Plan {
  change: Change
  /** Where what is there now goes first, or comes back from last. */
  move?: { from: string; to: string }
}

async function forEachHook(
  { directory }: GuardTarget,
  dryRun: boolean,
  plan: (event: HostEvent) => Plan,
): Promise<Change[]> {
  if (dryRun) return guardEvents.map((event) => plan(event).change)
  return exclusively(directory, () => guardEvents.map((event) => carryOut(plan(event))))
}

function planInstall({ directory, place }: GuardTarget, event: HostEvent, options: GuardOptions): Plan {
  const path = join(directory, event.name)
  const file = readSettings(path)
  const guard = guardText(event, options.program, options)
  const script = file.bytes?.toString('latin1')
  const base = { agent: 'git' as const, place, path, before: file.bytes }
  const answer = (outcome: Change['outcome'], text: string): Change => ({
    ...base,
    outcome,
    after: Buffer.from(text, 'latin1'),
  })
  // Read as Latin-1, a character a byte, so that whatever else is in a script stays as it is.
  const ours = Buffer.from(guard).toString('latin1')
  const aside = join(directory, asideName(event.name))
  const isAside = lstatSync(aside, { throwIfNoEntry: false }) !== undefined
  // An installation that broke off has moved it there, and no more.
  if (script === undefined)
    return { change: answer('installed', newScript(ours, isAside ? runAside(event.name) : '')) }
  const present = guardIn(script)
  if (present === ours) return { change: { ...base, outcome: 'unchanged', after: file.bytes } }
  checkWritable(file)
  if (present !== undefined) return { change: answer('updated', withGuard(script, ours)) }
  const runs = ((file.stat?.mode ?? 0) & 0o100) !== 0
  // A link leads to a file that is kept elsewhere, perhaps by git: it is not written into.
  if (runs && isShellScript(script) && canBePutBack(script, ours) && !lstatSync(path).isSymbolicLink())
    return { change: answer('installed', withGuard(script, ours)) }
  if (isAside)
    throw new StintError('NAME_TAKEN', `${path} cannot be moved aside: ${aside} exists already`, {
      hint: 'Remove the one that you no longer need, then try again.',
    })
  return {
    change: answer('installed', newScript(ours, runAside(event.name))),
    move: { from: path, to: aside },
  }
}

/** Does taking the guard out give the same bytes again? A script that does nothing could be taken for one of ours. */
const canBePutBack = (script: string, guard: string): boolean =>
  script !== newScript('') && withoutGuard(withGuard(script, guard)) === script

function planUninstall({ directory, place }: GuardTarget, event: HostEvent): Plan {
  const path = join(directory, event.name)
  const file = readSettings(path)
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
    return { change: { ...change, outcome: 'restored', after: undefined }, move: { from: aside, to: path } }
  const onlyOurs = rest === newScript('') || rest === newScript('', runAside(event.name))
  const after = onlyOurs ? undefined : Buffer.from(rest, 'latin1')
  return { change: { ...change, outcome: 'restored', after } }
}

function carryOut({ change, move }: Plan): Change {
  const { path, outcome, after } = change
  if (outcome === 'unchanged' || outcome === 'absent') return change
  try {
    if (move !== undefined) renameSync(move.from, move.to)
    else if (after === undefined) unlinkIfExists(path)
    if (after !== undefined) writeSettings(readSettings(path), after, 0o755)
  } catch (error) {
    throw codedError(error, `write ${path}`)
  }
  return change
}
