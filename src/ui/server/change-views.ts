import { createHash } from 'node:crypto'
import { StintError } from '../../base/errors/stint-error.ts'
import { utf8Of } from '../../base/fs/paths.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type DescribedSet, describeSet, listSets } from '../../points/commands/changes.ts'
import { describePlan, writePlanned } from '../../points/commands/undo.ts'
import {
  assertCertain,
  type ChangeSet,
  changeSets,
  type FilePatch,
  isInSet,
  listStores,
  type PlannedUndo,
  planUndoOf,
  type PointStore,
  readChanges,
  readChangeSets,
  readPatches,
  readPoints,
} from '../../points/index.ts'
import type { RequestFields } from './endpoints.ts'
import type { Answers, ChangeList, ChangeRow, ChangeView, UndoPreview } from './protocol.ts'

/** Lists the change sets of all workspaces, the newest first. */
export async function listChanges(query: RequestFields): Promise<ChangeList> {
  const limit = query.limit(100, 500)
  const key = query.text('key')
  const stores = listStores().filter((store) => key === undefined || store.key === key)
  // A store that cannot be read does not hide the others; `stint doctor` says what is wrong.
  const lists = await Promise.all(
    stores.map(async (store) => {
      const sets = await readSets(store).catch(() => [])
      const listed = await listSets({ store, sets }, { limit }).catch(() => ({ sets: [], more: 0 }))
      return { rows: listed.sets.map((set) => rowOf(store, set)), more: listed.more }
    }),
  )
  const rows = lists.flatMap((list) => list.rows).sort((a, b) => b.began_at - a.began_at)
  const older = lists.reduce((sum, { more }) => sum + more, 0) + Math.max(0, rows.length - limit)
  return { changes: rows.slice(0, limit), older }
}

/** The change sets of a store. Files are looked at only while a turn goes on, which has no end yet. */
async function readSets(store: PointStore): Promise<ChangeSet[]> {
  const points = readPoints(store)
  if (points.at(-1)?.kind !== 'grant') return changeSets(points)
  return (await readChangeSets(store.root)).sets
}

const rowOf = ({ key, root }: PointStore, { files, ...set }: DescribedSet): ChangeRow => ({
  ...set,
  key,
  workspace: root,
  files: files.length,
})

/** One change set with its diff. */
export async function viewChange(query: RequestFields): Promise<ChangeView> {
  const { store, id } = readPlace(query)
  const set = needSet(await readSets(store), id)
  const [changes = []] = await readChanges(store, [set], { countLines: true })
  const patches = await readPatches(store, set, (path) => isInSet(set, path))
  const diffs: ChangeView['diffs'] = []
  let lines = 0
  for (const patch of patches) {
    if (diffs.length >= maxFiles || lines >= maxLines) break
    const diff = describePatch(patch)
    lines += diff.lines.length
    diffs.push(diff)
  }
  return {
    ...rowOf(store, describeSet(set, changes)),
    diffs,
    files_left_out: patches.length - diffs.length,
  }
}

const maxFiles = 200
const maxLines = 10_000
/** Lines of one file. */
const maxFileLines = 400

/** A patch without its header. `@@` begins the first hunk, so what follows are lines of the file. */
function describePatch({ path, movedFrom, change, text }: FilePatch): ChangeView['diffs'][number] {
  const at = text.search(/^@@/m)
  const lines = at < 0 ? [] : utf8Of(text.slice(at)).replace(/\n$/, '').split('\n')
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  return {
    path: utf8Of(path),
    moved_from: movedFrom === undefined ? null : utf8Of(movedFrom),
    change,
    is_binary: /^Binary files /m.test(text),
    added: count('+'),
    removed: count('-'),
    lines: lines.slice(0, maxFileLines),
    lines_left_out: Math.max(0, lines.length - maxFileLines),
  }
}

/** What undoing a change set would write. Changes nothing. */
export async function previewChangeUndo(query: RequestFields): Promise<UndoPreview> {
  const planned = await planOf(readPlace(query))
  return { ...describePlan(planned), plan: fingerprint(planned) }
}

/** Undoes a change set, if the undo is still what the page has shown. */
export async function undoChange(body: RequestFields): Promise<Answers['POST /api/actions/undo']> {
  const planned = await planOf(readPlace(body))
  if (fingerprint(planned) !== body.need('plan'))
    throw new StintError('UNDO_STALE', 'files were changed since the undo was shown')
  return await writePlanned(planned)
}

/** The undo of a change set; taking back an undo is a redo. Refused where the command needs `--force`. */
async function planOf({ store, id }: { store: PointStore; id: string }): Promise<PlannedUndo> {
  const opened = await readChangeSets(store.root)
  const set = needSet(opened.sets, id)
  assertCertain([set])
  return await planUndoOf(opened, [set])
}

const fingerprint = ({ plan }: PlannedUndo): string =>
  createHash('sha256').update(JSON.stringify(plan)).digest('hex')

function readPlace(fields: RequestFields): { store: PointStore; id: string } {
  const key = fields.need('key')
  const store = listStores().find((each) => each.key === key)
  if (store === undefined) throw new StintError('NOT_FOUND', `${visibleText(key, 40)} has no restore points`)
  return { store, id: fields.need('id') }
}

function needSet(sets: readonly ChangeSet[], id: string): ChangeSet {
  const set = sets.find((each) => each.id === id)
  if (set !== undefined) return set
  throw new StintError('NOT_FOUND', `there is no change set ${visibleText(id, 40)}`)
}
