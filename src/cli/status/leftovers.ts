import {
  type AgentWorktree,
  findLeftFiles,
  findOrphans,
  findWorktrees,
  type LeftFile,
  LivingSessions,
  type OrphanedProcess,
} from '../../agents/index.ts'
import { formatBytes } from '../../base/text/size.ts'
import { plural, shortPath } from '../text/format.ts'

/** Milliseconds that measuring files may take, and that git gets for all worktrees. */
const measureWithinMs = 150
const gitWithinMs = 500

/** What dead sessions of agents have left, and the worktrees that agents have made. */
export interface LeftoverData {
  processes: Omit<OrphanedProcess, 'command'>[]
  files: LeftFile[]
  worktrees: AgentWorktree[]
}

/** Looks for what agents left behind. `held` are the directories that sessions hold. */
export async function gatherLeftovers(
  living: LivingSessions,
  { workspaces, held }: { workspaces: readonly string[]; held: readonly string[] },
): Promise<LeftoverData> {
  const { table } = living
  return {
    // A command line may contain secrets; `stint sweep --scope agents` masks and shows it.
    processes: findOrphans(living).map(({ command: _command, ...orphan }) => orphan),
    files: findLeftFiles(living, measureWithinMs),
    worktrees: await findWorktrees({ table, workspaces, held, withinMs: gitWithinMs }),
  }
}

/** A line for each kind of thing that was left. */
export function leftoverLines({ processes, files, worktrees }: LeftoverData): string[] {
  const sum = (sizes: readonly { bytes: number }[]): string =>
    formatBytes(sizes.reduce((total, { bytes }) => total + bytes, 0))
  const count = (kind: LeftFile['kind'], one: string, many: string): string[] => {
    const found = files.filter((file) => file.kind === kind)
    const size = kind === 'empty' ? '' : ` (${sum(found)})`
    return found.length > 0 ? [`${plural(found.length, one, many)}${size}`] : []
  }
  const things = [
    ...(processes.length > 0
      ? [`${plural(processes.length, 'process', 'processes')} (${sum(processes)} of memory)`]
      : []),
    ...count('temp', 'temp directory', 'temp directories'),
    ...count('empty', 'empty directory', 'empty directories'),
    ...count('library', 'unpacked library', 'unpacked libraries'),
  ]
  const command = 'stint sweep --scope agents'
  const ofSessions = things.length > 0 ? [`by dead sessions: ${things.join(', ')}: ${command}`] : []
  return [...ofSessions, ...worktreeLines(worktrees)]
}

function worktreeLines(worktrees: readonly AgentWorktree[]): string[] {
  if (worktrees.length === 0) return []
  const words = { alive: 'in use', changed: 'with changes', clean: 'clean', unknown: '…' }
  const counts = Object.entries(words).flatMap(([state, word]) => {
    const count = worktrees.filter((each) => each.state === state).length
    return count > 0 ? [`${count} ${word}`] : []
  })
  const clean = worktrees.find(({ state }) => state === 'clean')
  const how = clean === undefined ? [] : [`git worktree remove ${shortPath(clean.path)}`]
  return [`${plural(worktrees.length, 'worktree')} of agents: ${counts.join(', ')}`, ...how]
}
