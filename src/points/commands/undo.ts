import { StintError } from '../../base/errors/stint-error.ts'
import { utf8Of } from '../../base/fs/paths.ts'
import { visibleText } from '../../base/text/escape.ts'
import { confirm } from '../../cli/terminal/confirm.ts'
import { plural } from '../../cli/text/format.ts'
import type { BareContext } from '../../command/context.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import {
  assertFinished,
  assertNoConflicts,
  type ChangeSet,
  type FileChange,
  previewUndo,
  readLastActs,
  recoverUndo,
  stagedPaths,
  undoChangeSets,
  type UndoPlan,
  type WorktreeChangeSets,
} from '../index.ts'
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
    force: { type: 'boolean', help: 'also if HEAD moved in the turn, or its beginning was not seen' },
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
  async run(context, { options, ...args }): Promise<UndoData> {
    const { what, paths } = readWhat(args)
    if (options.continue || options.abort) return await recover(options, what)
    const opened = await openChangeSets(options.workspace)
    const chosen = chooseSets(opened.sets, what)
    if (!options.force && !options['dry-run']) assertCertain(chosen)
    return await undo(context, opened, chosen, { options, paths, isRedo: false })
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
  async run(context, { options }): Promise<UndoData> {
    const opened = await openChangeSets(options.workspace)
    const last = opened.sets.findLast(
      ({ kind, undone, isRedo }) => kind === 'undo' && undone === 'no' && !isRedo,
    )
    if (last === undefined) throw new StintError('NOT_FOUND', 'there is no undo here to take back')
    return await undo(context, opened, [last], { options, paths: [], isRedo: true })
  },
  render: renderUndo,
})

interface UndoData {
  workspace: string
  /** The id of the undo; null if nothing was written. */
  id: string | null
  undone_sets: readonly string[]
  dry_run: boolean
  files: { path: string; effect: string }[]
  conflicts: { path: string; why: string }[]
  kept: string[]
  staged: string[]
  changed_since: string[]
}

interface UndoArguments {
  options: { 'dry-run': boolean; yes: boolean }
  paths: readonly string[]
  isRedo: boolean
}

async function undo(
  context: BareContext,
  { store, sets, present }: WorktreeChangeSets,
  chosen: readonly ChangeSet[],
  { options, paths, isRedo }: UndoArguments,
): Promise<UndoData> {
  assertFinished(store)
  const { root } = store
  const choice = { ids: chosen.map(({ id }) => id), paths: pathsInRoot(root, paths) }
  const shown = await previewUndo(store, sets, present.tree, choice)
  const data = describePlan(root, choice.ids, shown)
  if (options['dry-run']) return data
  assertNoConflicts(shown)
  if (shown.changes.length === 0) return data
  if (!options.yes) context.say(data.files.map(fileLine).join('\n'))
  const what = plural(shown.changes.length, 'file')
  await confirm(options.yes, isRedo ? 'redo' : 'undo', `Write ${what} in ${visibleText(root)}?`)
  const lastActs = await readLastActs(root)
  const { id, written } = await undoChangeSets({ root, ...choice, shown, isRedo, lastActs })
  const staged = await stagedPaths(root, written)
  return { ...data, id, dry_run: false, staged: staged.map(utf8Of) }
}

async function recover(
  options: { continue: boolean; abort: boolean; workspace: string | undefined },
  what: string | undefined,
): Promise<UndoData> {
  if ((options.continue && options.abort) || what !== undefined)
    throw new StintError('ARG_ERROR', '--continue and --abort stand alone')
  const { path: root } = findWorkspace(options.workspace)
  const { id, written, changedByOthers } = await recoverUndo(root, options.continue ? 'continue' : 'abort')
  const effect = options.continue ? 'undone' : 'as before the undo'
  return {
    ...describePlan(root, [], { changes: [], conflicts: [], kept: [] }),
    id,
    dry_run: false,
    files: written.map((path) => ({ path: utf8Of(path), effect })),
    changed_since: changedByOthers.map(utf8Of),
  }
}

/** Throws for sets whose undo may take back more than a session did. */
function assertCertain(sets: readonly ChangeSet[]): void {
  const uncertain = sets.find(({ isComplete, hasMovedHead }) => !isComplete || hasMovedHead)
  if (uncertain === undefined) return
  const { id, hasMovedHead } = uncertain
  const why = hasMovedHead
    ? 'HEAD moved in it (a commit, a rebase or another branch)'
    : 'its beginning has no restore point, so changes of others may be in it'
  throw new StintError('UNDO_NEEDS_FORCE', `${id} is not undone: ${why}`, {
    hint: `Look at it with \`stint diff ${id}\`, then use --force.`,
  })
}

const describePlan = (
  root: string,
  ids: readonly string[],
  { changes, conflicts, kept }: UndoPlan,
): UndoData => ({
  workspace: root,
  id: null,
  undone_sets: ids,
  dry_run: true,
  files: changes.map((change) => ({ path: utf8Of(change.path), effect: effectOf(change) })),
  conflicts: conflicts.map(({ path, why }) => ({ path: utf8Of(path), why })),
  kept: kept.map(utf8Of),
  staged: [],
  changed_since: [],
})

function effectOf({ from, to, isMerged }: FileChange): string {
  if (to === undefined) return 'deleted'
  if (from === undefined) return 'brought back'
  return isMerged ? 'changed back, with later changes kept' : 'changed back'
}

const fileLine = ({ path, effect }: { path: string; effect: string }): string =>
  `  ${visibleText(path)}: ${effect}`

function renderUndo(data: UndoData): string {
  const { id, dry_run, files, conflicts, kept, staged, changed_since } = data
  const list = (paths: readonly string[]): string => visibleText(paths.slice(0, 10).join(', '))
  const more = (paths: readonly string[]): string =>
    paths.length > 10 ? ` and ${paths.length - 10} more` : ''
  const said = (text: string, paths: readonly string[]): string[] =>
    paths.length === 0 ? [] : [`${text}: ${list(paths)}${more(paths)}`]
  const nothing = 'nothing to undo: these files are already as they were before'
  return [
    ...(dry_run || id === null ? files.map(fileLine) : []),
    ...conflicts.map(({ path, why }) => `  conflict: ${visibleText(path)}: ${why}`),
    ...(files.length === 0 && conflicts.length === 0 ? [nothing] : []),
    ...(dry_run && files.length > 0
      ? [`would write ${plural(files.length, 'file')}; nothing was changed`]
      : []),
    ...(dry_run ? [] : [`wrote ${plural(files.length, 'file')}; \`stint redo\` takes this back`]),
    ...said('stays, because it is ignored again', kept),
    ...said('still staged in git with the undone contents (`git restore --staged`)', staged),
    ...said('changed since the crash, and left as it is', changed_since),
  ].join('\n')
}
