import { readdirSync, readlinkSync, rmdirSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { isRealDirectory, listIfReadable, lstatIfExists } from '../base/fs/exists.ts'
import { measureSteps } from '../base/fs/measure-tree.ts'
import { isWithin } from '../base/fs/paths.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { systemClock } from '../base/process/clock.ts'
import { geteuid, readSystemFile } from '../base/process/platform.ts'
import type { ProcessTable } from '../base/process/process-table.ts'
import { runToEnd } from '../base/process/event-loop.ts'
import type { AgentName } from '../hooks/hosts/host.ts'
import { agentHome } from '../hooks/install/agents.ts'
import type { LivingSessions } from './living-sessions.ts'

/**
 * Files that an agent has left and that no process uses. `temp`: output and notes of a dead session in the
 * temp directory. `empty`: a directory of a dead session without any file. `library`: code that OpenCode has
 * unpacked at a start, and that no process has loaded.
 */
export interface LeftFile {
  kind: 'temp' | 'empty' | 'library'
  agent: AgentName
  session_id: string | null
  path: string
  /** On the disk. */
  bytes: number
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Finds the files that dead sessions have left. Sizes are lower bounds after `measureWithinMs`. */
export function findLeftFiles(living: LivingSessions, measureWithinMs: number): LeftFile[] {
  const isDead = (sessionId: string): boolean => living.lifeOf('claude', sessionId) === 'dead'
  const until = systemClock.mono() + measureWithinMs
  const uses = usesOf(living.table)
  const isUsed = (path: string): boolean => uses.some((use) => isWithin(use, path))
  const sized = (file: Omit<LeftFile, 'bytes'>): LeftFile => ({ ...file, bytes: sizeOf(file.path, until) })
  return [
    ...sessionDirectories(tempRoots())
      .filter(({ path, session_id }) => isDead(session_id) && !isUsed(path))
      .map((found) => sized({ kind: 'temp', agent: 'claude', ...found })),
    ...emptyDirectories()
      .filter(({ path, session_id }) => isDead(session_id) && !isUsed(path))
      .map((found) => ({ kind: 'empty' as const, agent: 'claude' as const, ...found, bytes: 0 })),
    ...unpackedLibraries(living).map((path) =>
      sized({ kind: 'library', agent: 'opencode', session_id: null, path }),
    ),
  ]
}

/** Where Claude Code keeps the output of tasks: a directory for each project, and in it one a session. */
function tempRoots(): string[] {
  const bases = [process.env.CLAUDE_CODE_TMPDIR, tmpdir(), '/tmp'].filter(
    (path): path is string => path !== undefined && isAbsolute(path),
  )
  return [...new Set(bases)].map((base) => join(base, `claude-${geteuid()}`)).filter(isOurs)
}

const isOurs = (path: string): boolean => {
  const stat = ifPossible(() => lstatIfExists(path))
  return stat !== undefined && stat.isDirectory() && stat.uid === geteuid()
}

interface SessionDirectory {
  path: string
  session_id: string
}

/** The directories that are named by a session, in the directories of projects below the roots. */
const sessionDirectories = (roots: readonly string[]): SessionDirectory[] =>
  roots
    .flatMap((root) => listIfReadable(root).map((project) => join(root, project)))
    .flatMap((project) =>
      listIfReadable(project)
        .filter((name) => uuid.test(name))
        .map((name) => ({ path: join(project, name), session_id: name })),
    )
    .filter(({ path }) => isOurs(path))

/** Directories of sessions in Claude Code's own that have no file in them, and no transcript beside them. */
function emptyDirectories(): SessionDirectory[] {
  return sessionDirectories([join(agentHome('claude'), 'projects')]).filter(
    ({ path }) => ifPossible(() => lstatIfExists(`${path}.jsonl`)) === undefined && isWithoutFiles(path),
  )
}

/** Deeper than this, a directory counts as one with files. */
const maxDepth = 4

const isWithoutFiles = (directory: string, depth = 0): boolean =>
  depth < maxDepth &&
  (ifPossible(() => readdirSync(directory, { withFileTypes: true }))?.every(
    (entry) => entry.isDirectory() && isWithoutFiles(join(directory, entry.name), depth + 1),
  ) ??
    false)

/** The directories and open files of all processes that this user may look at. */
function usesOf(table: ProcessTable): string[] {
  return table.processes.flatMap(({ pid }) => {
    const files = (ifPossible(() => readdirSync(`/proc/${pid}/fd`)) ?? []).map((fd) =>
      ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)),
    )
    return [table.directoryOf(pid), ...files].filter(
      (path): path is string => path !== undefined && path.startsWith('/'),
    )
  })
}

/** The name that Bun gives to a library which it unpacks: oven-sh/bun#29587. */
const libraryName = /^\.[0-9a-f]{16}-[0-9a-f]{8}\.(?:so|dylib)$/

/** Unpacked libraries of this user that no process has loaded; only Linux shows the maps. */
function unpackedLibraries(living: LivingSessions): string[] {
  const paths = listIfReadable(tmpdir())
    .filter((name) => libraryName.test(name))
    .map((name) => join(tmpdir(), name))
    .filter((path) => ifPossible(() => lstatIfExists(path))?.uid === geteuid())
  if (paths.length === 0 || process.platform !== 'linux') return []
  const maps = living.table.processes.map(({ pid }) => ({ pid, map: readSystemFile(`/proc/${pid}/maps`) }))
  // Some programs hide their maps from their own user. An agent that does so may have loaded anything.
  if (maps.some(({ pid, map }) => map === undefined && living.isAgent(pid))) return []
  return paths.filter((path) => !maps.some(({ map }) => map?.includes(path)))
}

/** The disk space of a tree; what was counted when the time is over. */
function sizeOf(path: string, until: number): number {
  const enough = (): boolean => systemClock.mono() > until
  return enough() ? 0 : runToEnd(measureSteps(path, { enough })).disk_bytes
}

/** Removes left files; returns the error codes of those that stay. */
export function removeLeftFiles(files: readonly LeftFile[]): { path: string; error: string }[] {
  return files.flatMap(({ kind, path }) => {
    if (kind === 'temp') return removeTree(path).failures.slice(0, 1)
    try {
      if (kind === 'empty') removeEmpty(path)
      else unlinkSync(path)
      return []
    } catch (error) {
      return errorCode(error) === 'ENOENT' ? [] : [{ path, error: errorCode(error) ?? String(error) }]
    }
  })
}

/** Removes directories only: a file that has appeared since makes this fail, and stays. */
function removeEmpty(directory: string): void {
  for (const name of readdirSync(directory).filter((each) => isRealDirectory(join(directory, each))))
    removeEmpty(join(directory, name))
  rmdirSync(directory)
}
