import { readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable, lstatIfExists } from '../base/fs/exists.ts'
import { measureSteps } from '../base/fs/measure-tree.ts'
import { isWithin } from '../base/fs/paths.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { systemClock } from '../base/process/clock.ts'
import { geteuid, pidExists, readSystemFile } from '../base/process/platform.ts'
import type { ProcessTable } from '../base/process/process-table.ts'
import { runToEnd } from '../base/process/event-loop.ts'
import type { AgentName } from '../hooks/index.ts'
import type { LivingSessions } from './living-sessions.ts'

/**
 * Files that an agent has left and that no process uses. `temp`: output and notes of a dead session in the
 * temp directory. `library`: code that OpenCode has unpacked at a start, and that no process has loaded.
 */
export interface LeftFile {
  kind: 'temp' | 'library'
  agent: AgentName
  session_id: string | null
  path: string
  /** On the disk. */
  bytes: number
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Finds the files that dead sessions have left. Sizes are lower bounds after `measureWithinMs`. */
export function findLeftFiles(living: LivingSessions, measureWithinMs: number): LeftFile[] {
  const until = systemClock.mono() + measureWithinMs
  const uses = usesOf(living.table)
  const outputs = sessionDirectories().filter(
    ({ path, session_id }) =>
      living.lifeOf('claude', session_id) === 'dead' && !uses.some((use) => isWithin(use, path)),
  )
  return [
    ...outputs.map((output) => ({ kind: 'temp' as const, agent: 'claude' as const, ...output })),
    ...unpackedLibraries(living).map((path) => ({
      kind: 'library' as const,
      agent: 'opencode' as const,
      session_id: null,
      path,
    })),
  ].map((file) => ({ ...file, bytes: sizeOf(file.path, until) }))
}

/**
 * The directories in which Claude Code keeps the output of tasks: one for each project, and in it one a
 * session.
 */
function sessionDirectories(): { path: string; session_id: string }[] {
  const bases = [process.env.CLAUDE_CODE_TMPDIR ?? '', tmpdir(), '/tmp'].filter(isAbsolute)
  const roots = [...new Set(bases)].map((base) => join(base, `claude-${geteuid()}`)).filter(isOurs)
  return roots
    .flatMap((root) => listIfReadable(root).map((project) => join(root, project)))
    .flatMap((project) =>
      listIfReadable(project).map((name) => ({ path: join(project, name), session_id: name })),
    )
    .filter(({ path, session_id }) => uuid.test(session_id) && isOurs(path))
}

const isOurs = (path: string): boolean => {
  const stat = ifPossible(() => lstatIfExists(path))
  return stat !== undefined && stat.isDirectory() && stat.uid === geteuid()
}

/** The directories and open files of all processes that this user may look at. */
function usesOf(table: ProcessTable): string[] {
  return table.processes.flatMap(({ pid }) => {
    const files = listIfReadable(`/proc/${pid}/fd`).map((fd) =>
      ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)),
    )
    return [table.directoryOf(pid), ...files].flatMap((path) => (path?.startsWith('/') ? [path] : []))
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
  // Some programs hide their maps from their own user. An agent that does so may have loaded anything; one
  // that has ended since the table was read uses nothing.
  const isHidden = ({ pid, map }: (typeof maps)[number]): boolean =>
    map === undefined && living.isAgent(pid) && pidExists(pid)
  if (maps.some(isHidden)) return []
  return paths.filter((path) => !maps.some(({ map }) => map?.includes(path)))
}

/** The disk space of a tree; what was counted when the time is over. */
function sizeOf(path: string, until: number): number {
  const enough = (): boolean => systemClock.mono() > until
  return enough() ? 0 : runToEnd(measureSteps(path, { enough })).disk_bytes
}

/** Removes left files; returns the error codes of those that stay. */
export const removeLeftFiles = (files: readonly LeftFile[]): { path: string; error: string }[] =>
  files.flatMap(({ path }) => removeTree(path).failures.slice(0, 1))
