import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { assertOwnHomeDirectory, homeUnsafe, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { ownDirectoryProblem } from '../base/fs/private-file.ts'
import { ensureScratchDirectory, findRoot, type ScratchRoot } from '../scratch/root.ts'
import { sweptStamp } from './sweep-at-start.ts'

/** What a sweep looks at. Sessions do not expire, so `sessions` is no part of `all`. */
export const sweepScopes = ['all', 'sessions'] as const
export type SweepScope = (typeof sweepScopes)[number]

/** One directory whose entries the sweep judges. */
export interface SweptDirectory {
  kind: 'root' | 'runs' | 'out' | 'trash' | 'tracked' | 'sessions'
  path: string
  /** The scratch root it belongs to; undefined for the trash of sessions. */
  root?: ScratchRoot
}

/**
 * The directories of a scope, in the order to sweep them. Throws for an unsafe root or home. A dry run
 * creates nothing, not even the trash.
 */
export function directoriesIn(
  scope: SweepScope,
  options: { root?: ScratchRoot; dryRun?: boolean },
): SweptDirectory[] {
  if (scope === 'sessions') {
    const path = findSessionTrash()
    return path === undefined ? [] : [{ kind: 'sessions', path }]
  }
  const root = options.root ?? findRoot()
  if (root === undefined) return []
  if (!options.dryRun) ensureScratchDirectory(root.trash)
  return [
    // Trash and outputs come first: judging them needs no look at processes.
    { kind: 'trash', path: root.trash, root },
    { kind: 'out', path: root.out, root },
    { kind: 'runs', path: root.runs, root },
    { kind: 'root', path: root.path, root },
    // Only a record without a scratch is judged by itself, so the records come after the scratches.
    { kind: 'tracked', path: root.tracked, root },
  ]
}

/**
 * Finds `$STINT_HOME/trash`, where removed sessions wait to be deleted; undefined if it is missing. Throws
 * `HOME_UNSAFE` for anything but a directory of this user: a link would make the sweep delete elsewhere.
 */
function findSessionTrash(): string | undefined {
  const home = stintHome()
  for (const path of [home, join(home, 'trash')]) {
    const stat = withHomeErrors(home, 'look for the trash', () => lstatSync(path, { throwIfNoEntry: false }))
    if (stat === undefined) return undefined
    assertOwnHomeDirectory(path, stat)
  }
  return join(home, 'trash')
}

/** Names that are part of the layout, not entries to judge. */
const fixedNames: Partial<Record<SweptDirectory['kind'], readonly string[]>> = {
  root: ['run', 'trash', 'out', 'tracked'],
  trash: [sweptStamp],
}

/** The entries of a directory that a sweep judges. */
export interface SweptListing {
  directory: SweptDirectory
  names: string[]
}

/**
 * Lists a directory; empty if it is missing. Throws if it is not a directory of this user: a link would lead
 * the sweep elsewhere. A name that is not valid UTF-8 is not stint's: no path leads to it, so it stays.
 */
export function listSwept(directory: SweptDirectory): SweptListing {
  const { path, kind } = directory
  try {
    const problem = ownDirectoryProblem(lstatSync(path))
    if (problem !== undefined) throw unsafe(path, kind, problem)
    return { directory, names: readdirSync(path).filter((name) => !fixedNames[kind]?.includes(name)) }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { directory, names: [] }
    throw codedError(error, `list ${path}`)
  }
}

const unsafe = (path: string, kind: SweptDirectory['kind'], problem: string): StintError =>
  kind === 'sessions'
    ? homeUnsafe(path, problem)
    : new StintError('TEMP_DIR_UNSAFE', `${path} ${problem}`, { detail: `path=${path}` })
