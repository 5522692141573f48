import { existsSync } from 'node:fs'
import { explained, ifPossible } from '../../base/errors/if-possible.ts'
import { errorMessage, notRetryable, StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import { nothingRemoved } from '../../base/fs/remove-tree.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { BareContext } from '../../command/context.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { sweepPasses, sweepPrompts } from '../../hooks/index.ts'
import { sweepLocks } from '../../lease/index.ts'
import { sweepStagedSessions } from '../../session/index.ts'
import {
  addToReport,
  recordSweep,
  sweep,
  type SweepOptions,
  type SweepProgress,
  type SweepReport,
  type SweepScope,
  sweepScopes,
} from '../index.ts'
import { syncVault, vaultDirectory } from '../../vault/index.ts'
import { openProgressBar } from '../../cli/terminal/progress.ts'
import { formatSpace, shortPath } from '../../cli/text/format.ts'
import { table } from '../../cli/text/table.ts'
import { type AgentsSweepData, renderAgentsSweep, sweepAgents } from './sweep-agents.ts'
import { installTimer, renderTimer, type TimerData, uninstallTimer } from './timer.ts'

export const sweepCommand = defineBareCommand({
  name: 'sweep',
  summary:
    'Removes what dead runs left behind: scratches whose owner and children are dead, expired outputs, trash, and the claims of sessions that are gone.',
  options: {
    'dry-run': { type: 'boolean', help: 'show what would be done; change nothing' },
    'older-than': {
      type: 'duration',
      value: 'D',
      help: 'remove only what has not changed for this long; never makes anything else removable',
    },
    scope: {
      type: 'string',
      choices: [...sweepScopes, 'agents'],
      help: 'what to look at (all); sessions deletes removed and unfinished sessions, and nothing else; agents ends and removes what dead sessions of agents left, after asking, and is never part of all',
    },
    yes: { type: 'boolean', help: 'with --scope agents: do not ask' },
    vault: {
      type: 'boolean',
      help: 'first copy what is new into the vault, if there is one; the timer does',
    },
    'install-timer': { type: 'boolean', help: 'sweep every hour: a systemd user timer, or a crontab line' },
    'uninstall-timer': { type: 'boolean', help: 'remove that timer' },
  },
  examples: [
    ['stint sweep', 'clean up now'],
    ['stint sweep --dry-run --json', 'what would be removed, as JSON'],
    ['stint sweep --older-than 1d', 'keep what went wrong today, to look at it'],
    ['stint sweep --scope sessions', 'delete removed sessions for good'],
    ['stint sweep --scope agents', 'end orphaned processes and remove temp files of dead agents'],
    ['stint sweep --install-timer', 'from now on, every hour'],
  ],
  async run(context, { options }): Promise<SweepData | TimerData | AgentsSweepData> {
    const dryRun = options['dry-run']
    const olderThanMs = options['older-than']
    const { scope = 'all' } = options
    const manageTimer = timerAction(options)
    if (manageTimer !== undefined) return manageTimer(dryRun)
    if (scope === 'agents') return await sweepLeftovers(context, options)
    if (options.vault) await copyIntoVault(context)
    const progress = await openProgressBar('sweeping', context)
    const onProgress = ({ done, total, diskBytesFreed: bytes }: SweepProgress): void => {
      // The rest of the entry stays in the trash, where the next sweep finds it.
      context.signal.throwIfAborted()
      progress?.update({ count: { done, total }, bytes })
    }
    return await sweepScope({ dryRun, scope, olderThanMs, onProgress }, () => progress?.clear())
  },
  render(data, { columns }) {
    if ('processes' in data) return renderAgentsSweep(data, columns)
    return 'removed' in data ? renderSweep(data, columns) : renderTimer(data)
  },
})

/** Sweeps what agents left. An age proves nothing about them, and the vault has nothing to do with it. */
async function sweepLeftovers(
  context: BareContext,
  options: { 'dry-run': boolean; 'older-than': number | undefined; vault: boolean; yes: boolean },
): Promise<AgentsSweepData> {
  if (options['older-than'] !== undefined || options.vault)
    throw new StintError('ARG_ERROR', '--scope agents goes with neither --older-than nor --vault', {
      hint: 'It removes only what no living process can need, however old or new it is.',
    })
  return await sweepAgents(context, { dryRun: options['dry-run'], yes: options.yes })
}

/** Copies what is new into the vault. A failure must not keep the sweep from freeing space. */
async function copyIntoVault({ warn, signal }: BareContext): Promise<void> {
  try {
    const vault = vaultDirectory(stintHome())
    if (existsSync(vault)) await syncVault(vault, { signal })
  } catch (error) {
    warn(`the vault was not synced: ${errorMessage(error)}`)
  }
}

/** Sweeps the temp directory, and the parts of the home that the scope names. */
async function sweepScope(
  options: SweepOptions & { dryRun: boolean; scope: SweepScope },
  onSwept: () => void = () => {},
): Promise<SweepData> {
  const { dryRun, scope, olderThanMs } = options
  const report = await sweep(options).finally(onSwept)
  const inHome = { dryRun, olderThanMs }
  if (scope === 'sessions') {
    // Not retryable, because the trash is emptied already.
    const unfinished = explained(notRetryable, () => sweepStagedSessions(inHome))
    addDirectories(report, 'unfinished-session', unfinished)
  } else {
    // The history is about the temp directory, so it gets the report before that of the home is added.
    if (!dryRun) await recordSweep(report)
    // A home that cannot be used must not fail a sweep of the temp directory; `stint doctor` reports it.
    addDirectories(report, 'ended-claims', await sweepLocks(inHome).catch(() => []))
    if (!dryRun) ifPossible(sweepHookFiles)
    if (!dryRun) await addOldPoints(report, olderThanMs)
  }
  const data = sweepData(report, dryRun)
  if (data.failures.length > 0) throw sweepFailure(data)
  return data
}

/** Removes what the hooks of ended sessions have left: small files, which are not in the report. */
function sweepHookFiles(): void {
  const home = stintHome()
  sweepPasses(home)
  sweepPrompts(home)
}

function addDirectories(
  report: SweepReport,
  reason: 'unfinished-session' | 'ended-claims',
  swept: Awaited<ReturnType<typeof sweepLocks>>,
): void {
  for (const { path, removal } of swept) addToReport(report, { path, type: 'directory', reason }, removal)
}

/** Removes old restore points, and packs and verifies the others; `stint doctor` reports what is wrong. */
async function addOldPoints(report: SweepReport, olderThanMs = 0): Promise<void> {
  const { sweepPoints } = await import('../../points/index.ts')
  for (const { directory, removedPoints, bytesFreed } of await sweepPoints({ olderThanMs }).catch(() => [])) {
    if (removedPoints === 0) continue
    const removal = { ...nothingRemoved(), bytes: bytesFreed, disk_bytes: bytesFreed, removed: removedPoints }
    addToReport(report, { path: directory, type: 'directory', reason: 'old-points' }, removal)
  }
}

interface TimerOptions {
  'install-timer': boolean
  'uninstall-timer': boolean
  scope: string | undefined
  'older-than': number | undefined
}

/** The action on the timer that the options ask for, if any. Throws for options that exclude each other. */
function timerAction(options: TimerOptions): ((dryRun: boolean) => TimerData) | undefined {
  const { 'install-timer': install, 'uninstall-timer': uninstall } = options
  const refuse = (message: string): StintError => new StintError('ARG_ERROR', message)
  if (install && uninstall) throw refuse('--install-timer and --uninstall-timer exclude each other')
  if (!install && !uninstall) return undefined
  if (options.scope !== undefined || options['older-than'] !== undefined)
    throw refuse('the timer sweeps everything dead runs leave: --scope and --older-than do not go with it')
  return install ? installTimer : uninstallTimer
}

/** The `data` of the envelope. */
export interface SweepData extends Pick<SweepReport, 'removed' | 'kept' | 'failures'> {
  dry_run: boolean
  bytes_freed: number
  disk_bytes_freed: number
}

const sweepData = (report: SweepReport, dryRun: boolean): SweepData => ({
  dry_run: dryRun,
  removed: report.removed,
  kept: report.kept,
  failures: report.failures,
  bytes_freed: report.bytesFreed,
  disk_bytes_freed: report.diskBytesFreed,
})

/** How many lines of each kind are printed; the envelope has all. */
const shownEntries = 20

/** Reasons for keeping an entry that a user may want to investigate. */
const notableReasons = new Set(['foreign-owner', 'symlink', 'not-stint', 'ownerless', 'owner-unknown'])

/** Renders the largest removed entries, the kept entries worth a look, and the totals. */
export function renderSweep(data: SweepData, columns: number): string {
  const { dry_run, removed, kept } = data
  const largest = [...removed].sort((a, b) => b.disk_bytes - a.disk_bytes)
  const notable = kept.filter(({ reason }) => notableReasons.has(reason))
  return [
    ...renderRows(
      largest.map(({ path, disk_bytes, reason }) => [formatBytes(disk_bytes), reason, path]),
      columns,
    ),
    `${dry_run ? 'would remove' : 'removed'} ${removed.length}, ${formatFreed(data)}${byReason(removed)}`,
    ...renderRows(
      notable.map(({ path, reason }) => ['kept', reason, path]),
      columns,
    ),
    `kept ${kept.length}${byReason(kept)}`,
  ].join('\n')
}

function renderRows(rows: readonly (readonly [string, string, string])[], columns: number): string[] {
  const shown = rows.slice(0, shownEntries)
  const lines = table(
    shown,
    [
      { title: '', cell: ([first]) => first, align: 'right' },
      { title: '', cell: ([, reason]) => reason },
      { title: '', cell: ([, , path]) => shortPath(path), cut: 'middle', least: 12 },
    ],
    columns - 2,
  )
    .slice(1)
    .map((line) => `  ${line}`)
  return rows.length > shown.length
    ? [...lines, `  … and ${rows.length - shown.length} more (--json lists them all)`]
    : lines
}

const formatFreed = ({ bytes_freed, disk_bytes_freed }: SweepData): string =>
  formatSpace({ bytes: bytes_freed, disk_bytes: disk_bytes_freed })

/** ` (3 owner-dead, 1 trash)`, the most frequent reason first; empty for no entries. */
function byReason(entries: readonly { reason: string }[]): string {
  const counts = new Map<string, number>()
  for (const { reason } of entries) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const parts = [...counts].sort(([, a], [, b]) => b - a).map(([reason, count]) => `${count} ${reason}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const namedFailures = 5

/** The error of an incomplete sweep. It names the first failures; `data` has all of them. */
export function sweepFailure(data: SweepData): StintError {
  const { failures, removed } = data
  const named = failures.slice(0, namedFailures).map(({ path, error }) => `${visibleText(path)} (${error})`)
  const more = failures.length > named.length ? ` and ${failures.length - named.length} more` : ''
  const done = `removed ${removed.length}, ${formatFreed(data)}`
  return new StintError('PARTIAL_FAILURE', `${done}, but could not remove ${named.join(', ')}${more}`, {
    data,
    detail: `removed=${removed.length} failures=${failures.length}`,
    phase: 'cleanup',
  })
}
