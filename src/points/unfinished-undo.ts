import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { parseObject } from '../base/text/fields.ts'
import type { PointStore } from './store.ts'
import type { FileChange } from './undo-plan.ts'

/** An undo that has begun to write: enough to finish it, or to take it back. */
export interface UnfinishedUndo {
  /** The id of its first point. */
  id: string
  at: number
  undoes: string[]
  isRedo: boolean
  changes: FileChange[]
}

const markerName = 'undo.json'

/** The undo that a crash has interrupted; undefined if there is none. */
export function readUnfinished(store: PointStore): UnfinishedUndo | undefined {
  const text = ifPossible(() => readFileSync(store.file(markerName), 'utf8'))
  return text === undefined ? undefined : (parseObject(text) as unknown as UnfinishedUndo | undefined)
}

/** Throws `UNDO_UNFINISHED` while an undo waits to be finished or taken back. */
export function assertFinished(store: PointStore): void {
  const unfinished = readUnfinished(store)
  if (unfinished === undefined) return
  const { at, changes } = unfinished
  const message = `the undo of ${new Date(at).toISOString()} was interrupted: of ${changes.length} files, some are as before and some are undone`
  throw new StintError('UNDO_UNFINISHED', message)
}

/** Notes on disk what an undo is about to write. From here on, a crash can be finished or taken back. */
export function markUnfinished(store: PointStore, undo: UnfinishedUndo): void {
  syncObjects(store)
  replaceFile(store.file(markerName), JSON.stringify(undo))
}

export const removeMark = (store: PointStore): void => unlinkSync(store.file(markerName))

/**
 * Syncs the contents that points have added since the last undo. Points themselves sync nothing, because they
 * are taken while an agent waits.
 */
function syncObjects(store: PointStore): void {
  const mark = store.file('synced')
  const sinceMs = (ifPossible(() => statSync(mark).mtimeMs) ?? 0) - 2000
  const startedAt = new Date()
  const objects = store.file('git/objects')
  const directories = readdirSync(objects).map((name) => join(objects, name))
  for (const directory of [...directories, join(objects, 'pack'), store.file('git/refs/trees')]) {
    if (statSync(directory).mtimeMs < sinceMs) continue
    for (const name of readdirSync(directory)) syncFile(join(directory, name), sinceMs)
    syncFile(directory, 0)
  }
  appendPrivateFile(mark, '')
  utimesSync(mark, startedAt, startedAt)
}

function syncFile(path: string, sinceMs: number): void {
  if (statSync(path).mtimeMs < sinceMs) return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
