import { readFileSync, unlinkSync } from 'node:fs'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { nodeDisk } from '../base/fs/disk.ts'
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

/**
 * Notes on disk what an undo is about to write. From here on a crash can be finished or taken back. Git syncs
 * a pack when it is complete; points sync nothing, as an agent waits for them.
 */
export async function markUnfinished(store: PointStore, undo: UnfinishedUndo): Promise<void> {
  const oids = new Set(undo.changes.flatMap(({ from, to }) => [from?.oid ?? [], to?.oid ?? []].flat()))
  if (oids.size > 0) {
    const input = `${[...oids].join('\n')}\n`
    await store.git(['pack-objects', '-q', store.file('git/objects/pack/pack')], { input })
    nodeDisk.syncDirectory(store.file('git/objects/pack'))
  }
  replaceFile(store.file(markerName), JSON.stringify(undo))
}

export const removeMark = (store: PointStore): void => unlinkSync(store.file(markerName))
