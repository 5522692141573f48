import { lstatSync, readdirSync } from 'node:fs'
import { homeUnsafe } from '../base/fs/home.ts'
import { ownDirectoryProblem } from '../base/fs/own-directory.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { ensureScratchDirectory, findRoot, type ScratchRoot } from '../scratch/root.ts'
import { renameToPlain, splitByEncoding } from './odd-names.ts'
import { findSessionTrash } from './session-trash.ts'

/** What a sweep looks at. Sessions do not expire: the trash of removed ones is never part of `all`. */
export const sweepScopes = ['scratch', 'outputs', 'trash', 'sessions', 'all'] as const
export type SweepScope = (typeof sweepScopes)[number]

/** One directory that the sweep goes through. */
export interface SweptDirectory {
  kind: 'root' | 'out' | 'trash' | 'tracked' | 'sessions'
  directory: string
  /** The scratch root it belongs to; none for the trash of sessions. */
  root?: ScratchRoot
}

export interface DirectoriesOptions {
  root?: ScratchRoot
  /** Make nothing, not even the trash. */
  dryRun?: boolean
}

/** Where to look. A root or home that is not safe is an error; one that is not there is nowhere. */
export function directoriesIn(scope: SweepScope, options: DirectoriesOptions): SweptDirectory[] {
  if (scope === 'sessions') {
    const directory = findSessionTrash()
    return directory === undefined ? [] : [{ kind: 'sessions', directory }]
  }
  const root = options.root ?? findRoot()
  if (root === undefined) return []
  if (!options.dryRun) ensureScratchDirectory(root.trash)
  // Trash and outputs first: they need no look at processes.
  const places: Record<Exclude<SweepScope, 'sessions' | 'all'>, SweptDirectory> = {
    trash: { kind: 'trash', directory: root.trash, root },
    outputs: { kind: 'out', directory: root.out, root },
    scratch: { kind: 'root', directory: root.path, root },
  }
  const chosen = scope === 'all' ? Object.values(places) : [places[scope]]
  // Records whose scratch is gone; they come last, when it is known which.
  const tracked: SweptDirectory = { kind: 'tracked', directory: root.tracked, root }
  return scope === 'all' || scope === 'scratch' ? [...chosen, tracked] : chosen
}

/** In `trash/`: when the last sweep at a start was. */
export const sweptStamp = '.swept'

/** What belongs there for good. */
const fixtures: Readonly<Record<SweptDirectory['kind'], readonly string[]>> = {
  root: ['trash', 'out', 'tracked'],
  trash: [sweptStamp],
  out: [],
  tracked: [],
  sessions: [],
}

/** The entries of a place that a sweep looks at. */
export interface SweptListing {
  place: SweptDirectory
  names: string[]
  /** Names in Latin-1 that are no UTF-8. */
  odd: string[]
}

/** Lists a place. One that is not a directory of ours is an error: a link leads elsewhere. */
export function listSwept(
  place: SweptDirectory,
  { dryRun }: Pick<DirectoriesOptions, 'dryRun'>,
): SweptListing {
  const { directory, kind } = place
  const { names, odd } = splitByEncoding(entriesOf(place))
  const own = names.filter((name) => !fixtures[kind].includes(name))
  if (kind !== 'trash' || dryRun) return { place, names: own, odd }
  const renamed = odd.map((name) => renameToPlain(directory, name))
  return {
    place,
    names: [...own, ...renamed.flatMap((name) => name ?? [])],
    odd: odd.filter((_, index) => renamed[index] === undefined),
  }
}

function entriesOf({ directory, kind }: SweptDirectory): string[] {
  try {
    const problem = ownDirectoryProblem(lstatSync(directory))
    if (problem !== undefined) throw unsafe(directory, kind, problem)
    return readdirSync(directory, 'latin1')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw codedError(error, `list ${directory}`)
  }
}

const unsafe = (path: string, kind: SweptDirectory['kind'], problem: string): StintError =>
  kind === 'sessions'
    ? homeUnsafe(path, problem)
    : new StintError('TEMP_DIR_UNSAFE', `${path} ${problem}`, { detail: `path=${path}` })
