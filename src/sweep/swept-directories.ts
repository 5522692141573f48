import { isUtf8 } from 'node:buffer'
import { lstatSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { assertOwnHomeDirectory, homeUnsafe, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { bytePath, latin1Of, utf8Of } from '../base/fs/paths.ts'
import { ownDirectoryProblem } from '../base/fs/own-directory.ts'
import { geteuid } from '../base/process/platform.ts'
import { ulid } from '../base/text/id.ts'
import { ensureScratchDirectory, findRoot, type ScratchRoot } from '../scratch/root.ts'
import type { SweepScope } from './report.ts'
import { sweptStamp } from './sweep-at-start.ts'

/** One directory whose entries the sweep judges. */
export interface SweptDirectory {
  kind: 'root' | 'runs' | 'out' | 'trash' | 'tracked' | 'sessions'
  path: string
  /** The scratch root it belongs to; undefined for the trash of sessions. */
  root?: ScratchRoot
}

export interface DirectoriesOptions {
  root?: ScratchRoot
  /** Creates nothing, not even the trash. */
  dryRun?: boolean
}

/** The directories of a scope, in the order to sweep them. Throws for an unsafe root or home. */
export function directoriesIn(scope: SweepScope, options: DirectoriesOptions): SweptDirectory[] {
  if (scope === 'locks') return []
  if (scope === 'sessions') {
    const path = findSessionTrash()
    return path === undefined ? [] : [{ kind: 'sessions', path }]
  }
  const root = options.root ?? findRoot()
  if (root === undefined) return []
  if (!options.dryRun) ensureScratchDirectory(root.trash)
  // Trash and outputs come first: judging them needs no look at processes.
  const byScope: Record<Exclude<SweepScope, 'locks' | 'sessions' | 'all'>, SweptDirectory[]> = {
    trash: [{ kind: 'trash', path: root.trash, root }],
    outputs: [{ kind: 'out', path: root.out, root }],
    scratch: [
      { kind: 'runs', path: root.runs, root },
      { kind: 'root', path: root.path, root },
      // Only a record without a scratch is judged by itself, so the records come after the scratches.
      { kind: 'tracked', path: root.tracked, root },
    ],
  }
  return scope === 'all' ? Object.values(byScope).flat() : byScope[scope]
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
const fixedNames: Readonly<Record<SweptDirectory['kind'], readonly string[]>> = {
  root: ['run', 'trash', 'out', 'tracked'],
  runs: [],
  trash: [sweptStamp],
  out: [],
  tracked: [],
  sessions: [],
}

/** The entries of a directory that a sweep judges. */
export interface SweptListing {
  directory: SweptDirectory
  names: string[]
  /** Names that are not valid UTF-8, decoded as Latin-1: no string path reaches them. */
  undecodable: string[]
}

/** Lists a directory. Throws if it is not a directory of this user: a link would lead the sweep elsewhere. */
export function listSwept(
  directory: SweptDirectory,
  { dryRun }: Pick<DirectoriesOptions, 'dryRun'>,
): SweptListing {
  const { kind } = directory
  const { names, undecodable } = splitByEncoding(readNames(directory))
  const entries = names.filter((name) => !fixedNames[kind].includes(name))
  if (kind !== 'trash' || dryRun) return { directory, names: entries, undecodable }
  const renamed = undecodable.map((name) => renameToPlain(directory.path, name))
  return {
    directory,
    names: [...entries, ...renamed.flatMap((name) => name ?? [])],
    undecodable: undecodable.filter((_, index) => renamed[index] === undefined),
  }
}

/** The names in Latin-1, one character a byte; none if the directory is missing. */
function readNames({ path, kind }: SweptDirectory): string[] {
  try {
    const problem = ownDirectoryProblem(lstatSync(path))
    if (problem !== undefined) throw unsafe(path, kind, problem)
    return readdirSync(path, 'latin1')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw codedError(error, `list ${path}`)
  }
}

const unsafe = (path: string, kind: SweptDirectory['kind'], problem: string): StintError =>
  kind === 'sessions'
    ? homeUnsafe(path, problem)
    : new StintError('TEMP_DIR_UNSAFE', `${path} ${problem}`, { detail: `path=${path}` })

function splitByEncoding(latin1: readonly string[]): Pick<SweptListing, 'names' | 'undecodable'> {
  const names: string[] = []
  const undecodable: string[] = []
  for (const name of latin1)
    if (isUtf8(Buffer.from(name, 'latin1'))) names.push(utf8Of(name))
    else undecodable.push(name)
  return { names, undecodable }
}

/**
 * Gives an entry of the trash a plain ASCII name, so that it can be removed like any other: names in the
 * trash carry no meaning. Returns the new name; undefined if the entry is gone or cannot be renamed.
 */
function renameToPlain(trash: string, latin1: string): string | undefined {
  const path = bytePath(`${latin1Of(trash)}/${latin1}`)
  const name = `odd-${ulid()}`
  return ifPossible(() => {
    if (lstatSync(path).uid !== geteuid()) return undefined
    renameSync(path, `${trash}/${name}`)
    return name
  })
}
