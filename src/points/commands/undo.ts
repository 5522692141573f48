import { StintError } from '../../base/errors/stint-error.ts'
import { utf8Of } from '../../base/fs/paths.ts'
import { visibleText } from '../../base/text/escape.ts'
import { openStore } from '../../cli/store.ts'
import { confirm } from '../../cli/terminal/print.ts'
import { plural } from '../../cli/text/format.ts'
import type { BareContext } from '../../command/context.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import {
  assertCertain,
  assertNoConflicts,
  isRedoOf,
  performUndo,
  type PlannedUndo,
  planUndoOf,
  recoverUndo,
  sessionsOf,
  stagedPaths,
  type UndoResult,
} from '../index.ts'
import { leftOutOf } from './changes.ts'
import { chooseSets, openChangeSets, pathsInRoot, readWhat, workspaceOption } from './which-sets.ts'

const undoOptions = {
  'dry-run': { type: 'boolean', help: 'show what would be written; change nothing' },
  yes: { type: 'boolean', short: 'y', help: 'do not ask' },
  ...workspaceOption,
} as const

export const undoCommand = defineBareCommand({
  name: 'undo',
  summary:
    'Takes back what a change set, or a session, changed, and keeps what others changed. Without a name: the newest turn.',
  options: {
    ...undoOptions,
    force: { type: 'boolean', help: 'also if HEAD moved in the turn, or one of its points is missing' },
    continue: { type: 'boolean', help: 'finish an undo that was interrupted' },
    abort: { type: 'boolean', help: 'take an undo back that was interrupted' },
  },
  positionals: '[CHANGES] [-- PATH…]',
  examples: [
    ['stint undo --dry-run', 'what undoing the last turn would write'],
    ['stint undo claude', 'what the newest session of Claude Code changed here'],
    ['stint undo k3m9 -- src/api', 'one change set, only in src/api'],
    ['stint undo --continue', 'after a crash in the middle of an undo'],
  ],
  async run(context, { options, ...args }): Promise<DescribedUndo> {
    const { what, paths } = readWhat(args)
    if (options.continue || options.abort) {
      if ((options.continue && options.abort) || what !== undefined)
        throw new StintError('ARG_ERROR', '--continue and --abort stand alone')
      return await recover(options.workspace, options.continue ? 'continue' : 'abort')
    }
    const opened = await openChangeSets(options.workspace)
    const chosen = chooseSets(opened.sets, what)
    if (!options.force && !options['dry-run']) assertCertain(chosen)
    const planned = await planUndoOf(opened, chosen, pathsInRoot(opened.store.root, paths))
    return await showAndWrite(context, planned, options)
  },
  render: renderUndo,
})

export const redoCommand = defineBareCommand({
  name: 'redo',
  summary: 'Takes the last undo back: the files are again as they were before it.',
  options: undoOptions,
  examples: [
    ['stint redo', 'the opposite of the last `stint undo`'],
    ['stint redo --dry-run', 'what that would write'],
  ],
  async run(context, { options }): Promise<DescribedUndo> {
    const opened = await openChangeSets(options.workspace)
    const last = opened.sets.findLast(({ kind, undone }) => kind === 'undo' && undone === 'no')
    if (last === undefined)
      throw new StintError('NOT_FOUND', 'there is no undo here to take back', {
        hint: '`stint changes` shows what was undone.',
      })
    return await showAndWrite(context, await planUndoOf(opened, [last]), options)
  },
  render: renderUndo,
})

async function showAndWrite(
  context: BareContext,
  planned: PlannedUndo,
  options: { 'dry-run': boolean; yes: boolean },
): Promise<DescribedUndo> {
  const { root, sets, plan } = planned
  const described = describePlan(planned)
  if (options['dry-run']) return described
  assertNoConflicts(plan)
  if (plan.changes.length > 0 && !options.yes) {
    context.say(described.files.map(fileLine).join('\n'))
    const question = `Write ${plural(plan.changes.length, 'file')} in ${visibleText(root)}?`
    await confirm(false, isRedoOf(sets) ? 'redo' : 'undo', question)
  }
  return await writePlanned(planned)
}

/** An undo as answers show it, before it is written. */
export const describePlan = ({ root, sets, plan }: Pick<PlannedUndo, 'root' | 'sets' | 'plan'>) => ({
  workspace: root,
  /** The id of the undo; null if nothing was written. */
  id: null as string | null,
  undone_sets: sets.map(({ id }) => id),
  dry_run: true,
  files: plan.changes.map(({ path, from, to, isMerged }) => {
    const changed = isMerged ? 'changed back, with later changes kept' : 'changed back'
    return {
      path: utf8Of(path),
      effect: to === undefined ? 'deleted' : from === undefined ? 'brought back' : changed,
    }
  }),
  conflicts: plan.conflicts.map(({ path, why }) => ({ path: utf8Of(path), why })),
  /** Files that stay although the change sets made them, because they are ignored. */
  kept: plan.kept.map(utf8Of),
  /** Files and directories of which no contents are kept. */
  left_out: leftOutOf(sets),
  /** Files whose undone contents are still staged in git. */
  staged: [] as string[],
  /** Files that were changed after a crash, and were left as they are. */
  changed_since: [] as string[],
  /** The command that takes this back; null if there is nothing to take back. */
  take_back: null as string | null,
})

type DescribedUndo = ReturnType<typeof describePlan>

/** Writes a planned undo, and notes it in the audit log of the sessions. Throws if it has conflicts. */
export async function writePlanned(planned: PlannedUndo): Promise<DescribedUndo> {
  const { root, sets, plan } = planned
  assertNoConflicts(plan)
  const described = describePlan(planned)
  if (plan.changes.length === 0) return described
  const result = await performUndo(planned)
  const { id, written } = result
  const detail = { undo: id, sets: described.undone_sets, files: written.length }
  const [staged] = await Promise.all([
    stagedPaths(root, plan.changes).catch(() => []),
    auditUndo(sessionsOf(sets), root, detail),
  ])
  return {
    ...described,
    id,
    dry_run: false,
    staged: staged.map(utf8Of),
    take_back: takeBackCommand(result),
  }
}

const takeBackCommand = ({ id, isRedo }: UndoResult): string => (isRedo ? `stint undo ${id}` : 'stint redo')

/** Most sessions have no record, or their agent has it open: the activity log has every undo. */
async function auditUndo(
  sessionIds: readonly string[],
  root: string,
  detail: Record<string, unknown>,
): Promise<void> {
  if (sessionIds.length === 0) return
  const store = await openStore(undefined, () => {})
  for (const sessionId of sessionIds)
    await store
      .visit(sessionId, (visit) => visit.audit({ action: 'undo', subject: root, detail }))
      .catch(() => {})
  await store.close()
}

async function recover(directory: string | undefined, how: 'continue' | 'abort'): Promise<DescribedUndo> {
  const { path: root } = findWorkspace(directory)
  const result = await recoverUndo(root, how)
  const effect = how === 'continue' ? 'undone' : 'as before the undo'
  return {
    ...describePlan({ root, sets: [], plan: { changes: [], conflicts: [], kept: [] } }),
    id: result.id,
    dry_run: false,
    files: result.written.map((path) => ({ path: utf8Of(path), effect })),
    changed_since: result.changedByOthers.map(utf8Of),
    take_back: how === 'abort' ? null : takeBackCommand(result),
  }
}

const fileLine = ({ path, effect }: { path: string; effect: string }): string =>
  `  ${visibleText(path)}: ${effect}`

function renderUndo(described: DescribedUndo): string {
  const { dry_run, files, conflicts, kept, left_out, staged, changed_since, take_back } = described
  const listed = (text: string, paths: readonly string[]): string[] => {
    const more = paths.length > 10 ? ` and ${paths.length - 10} more` : ''
    return paths.length === 0 ? [] : [`${text}: ${visibleText(paths.slice(0, 10).join(', '))}${more}`]
  }
  return [
    ...(dry_run ? files.map(fileLine) : []),
    ...conflicts.map(({ path, why }) => `  conflict: ${visibleText(path)}: ${why}`),
    summaryOf(described),
    ...(take_back === null ? [] : [`\`${take_back}\` takes this back`]),
    ...listed('stays, because it is ignored again', kept),
    ...listed('not kept by restore points, and stays', left_out),
    ...listed('still staged in git with the undone contents (`git restore --staged`)', staged),
    ...listed('changed since the crash, and left as it is', changed_since),
  ].join('\n')
}

function summaryOf({ dry_run, files, conflicts }: DescribedUndo): string {
  const count = plural(files.length, 'file')
  if (conflicts.length > 0) return 'nothing would be written: an undo with conflicts is refused'
  if (files.length === 0) return 'nothing to undo: these files are already as they were before'
  return dry_run ? `would write ${count}; nothing was changed` : `wrote ${count}`
}
