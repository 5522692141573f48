import { StintError } from '../../base/errors/stint-error.ts'
import { truncate } from '../../base/text/wrap.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import {
  endOrphans,
  findLeftFiles,
  findOrphans,
  type LeftFile,
  LivingSessions,
  type OrphanedProcess,
  removeLeftFiles,
} from '../../agents/index.ts'
import type { BareContext } from '../../command/context.ts'
import { agentTitle } from '../../hooks/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { confirm } from '../../cli/terminal/print.ts'
import { formatAge, plural, shortPath } from '../../cli/text/format.ts'
import { table } from '../../cli/text/table.ts'

/** What sessions of agents have left behind, or what has become of it. */
export interface AgentsSweepData {
  dry_run: boolean
  /** `end` is null in a dry run. */
  processes: (OrphanedProcess & { end: string | null })[]
  files: (LeftFile & { removed: boolean })[]
  failures: { path: string; error: string }[]
}

/** Milliseconds that measuring may take. */
const measureWithinMs = 2000
/** Milliseconds that a process gets to end before it is killed. */
const graceMs = 5000

/** Ends and removes what dead sessions of agents have left, after asking. */
export async function sweepAgents(
  { say, screen, signal }: Pick<BareContext, 'say' | 'screen' | 'signal'>,
  { dryRun, yes }: { dryRun: boolean; yes: boolean },
): Promise<AgentsSweepData> {
  const leftovers = findLeftovers()
  const isNothing = leftovers.processes.length + leftovers.files.length === 0
  if (dryRun || isNothing) return { dry_run: dryRun, ...leftovers, failures: [] }
  if (!yes) say(`${rowsOf(leftovers, screen.columns).join('\n')}\n`)
  await confirm(yes, 'ending processes and removing files', `${describeTask(leftovers)}?`)
  signal.throwIfAborted()
  // A session may have come back while its user was asked.
  const { processes, files } = stillLeft(leftovers)
  const ended = await endOrphans(processes, graceMs)
  const failures = removeLeftFiles(files)
  const data: AgentsSweepData = {
    dry_run: false,
    processes: ended,
    files: files.map((file) => ({ ...file, removed: !failures.some(({ path }) => isIn(path, file)) })),
    failures,
  }
  const alive = ended.filter(({ end }) => end === 'alive')
  if (failures.length + alive.length === 0) return data
  const names = [
    ...failures.map(({ path, error }) => `${path} (${error})`),
    ...alive.map(({ pid }) => `pid ${pid}`),
  ]
  throw new StintError('PARTIAL_FAILURE', `some things are still there: ${names.slice(0, 5).join(', ')}`, {
    data,
  })
}

const isIn = (path: string, file: LeftFile): boolean => path.startsWith(file.path)

function findLeftovers(): Pick<AgentsSweepData, 'processes' | 'files'> {
  const living = new LivingSessions()
  const { gate } = registerEnvironmentSecrets()
  return {
    processes: findOrphans(living).map((orphan) => ({
      ...orphan,
      command: gate.text(orphan.command),
      end: null,
    })),
    files: findLeftFiles(living, measureWithinMs).map((file) => ({ ...file, removed: false })),
  }
}

/** Those of the leftovers that are still to be found. */
function stillLeft({ processes, files }: ReturnType<typeof findLeftovers>): ReturnType<typeof findLeftovers> {
  const now = findLeftovers()
  return {
    processes: processes.filter(({ pid, started }) =>
      now.processes.some((process) => process.pid === pid && process.started === started),
    ),
    files: files.filter(({ path }) => now.files.some((file) => file.path === path)),
  }
}

function describeTask({ processes, files }: ReturnType<typeof findLeftovers>): string {
  const parts = [
    ...(processes.length > 0 ? [`end ${plural(processes.length, 'process', 'processes')}`] : []),
    ...(files.length > 0 ? [`remove ${countFiles(files)}`] : []),
  ]
  return parts.join(' and ').replace(/^./, (first) => first.toUpperCase())
}

const countFiles = ({ length }: readonly LeftFile[]): string =>
  plural(length, 'file or directory', 'files and directories')

const kinds: Readonly<Record<LeftFile['kind'], string>> = {
  temp: 'output of a dead session',
  library: 'library that no process has loaded',
}

function rowsOf(
  { processes, files }: Pick<AgentsSweepData, 'processes' | 'files'>,
  columns: number,
): string[] {
  const rows = [
    ...processes.map((orphan) => ({
      agent: agentTitle(orphan.agent),
      session: orphan.session_id,
      bytes: orphan.bytes,
      what: `pid ${orphan.pid}, ${formatAge(Date.now() - orphan.started_at)}${orphan.end === null ? '' : `, ${orphan.end}`}`,
      name: truncate(visibleText(orphan.command), 200),
    })),
    ...files.map((file) => ({
      agent: agentTitle(file.agent),
      session: file.session_id ?? '',
      bytes: file.bytes,
      what: kinds[file.kind],
      name: shortPath(file.path),
    })),
  ]
  return table(
    rows,
    [
      { title: 'AGENT', cell: ({ agent }) => agent },
      { title: 'SESSION', cell: ({ session }) => session, cut: 'middle', least: 9, spare: 1 },
      { title: 'SIZE', cell: ({ bytes }) => formatBytes(bytes), align: 'right', spare: 2 },
      { title: 'WHAT', cell: ({ what }) => what },
      { title: 'NAME', cell: ({ name }) => name, cut: 'middle', least: 16 },
    ],
    columns,
  )
}

export function renderAgentsSweep(data: AgentsSweepData, columns: number): string {
  const { dry_run, processes, files } = data
  if (processes.length + files.length === 0)
    return 'nothing that a dead session of an agent has left was found'
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  const summary = `${plural(processes.length, 'process', 'processes')}, ${countFiles(files)} (${formatBytes(bytes)})`
  return [
    ...rowsOf(data, columns),
    dry_run ? `would end and remove ${summary}` : `ended and removed ${summary}`,
  ].join('\n')
}
