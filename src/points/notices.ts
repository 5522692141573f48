import { readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { utf8Of } from '../base/fs/paths.ts'
import { appendPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { parseObject } from '../base/text/fields.ts'
import type { ChangeSet } from './change-sets.ts'
import { readPoints } from './point.ts'
import { findStore, type PointStore } from './store.ts'
import { diffTrees } from './tree-diff.ts'
import type { UnfinishedUndo } from './unfinished-undo.ts'

/** What a session is told at its next prompt: these files of its work were taken back. */
export interface UndoneNotice {
  at: number
  files: string[]
}

const noticeFile = (store: PointStore, sessionId: string): string =>
  join(store.file('undone'), encodeURIComponent(sessionId))

/** Leaves a notice for every session whose change sets an undo has taken back. */
export function leaveNotices(store: PointStore, undo: UnfinishedUndo, sets: readonly ChangeSet[]): void {
  const undone = sets.filter(({ id, kind }) => kind === 'turn' && undo.undoes.includes(id))
  const notice: UndoneNotice = { at: undo.at, files: undo.changes.map(({ path }) => utf8Of(path)) }
  makePrivateDirectories(store.file('undone'))
  for (const sessionId of new Set(undone.flatMap(({ session_id }) => session_id ?? [])))
    appendPrivateFile(noticeFile(store, sessionId), `${JSON.stringify(notice)}\n`)
}

/** The files of a session that were taken back since it was last asked; each is told once. Never throws. */
export function takeUndoneNotices(root: string, sessionId: string): string[] {
  return (
    ifPossible(() => {
      const store = findStore(root)
      if (store === undefined) return []
      const path = noticeFile(store, sessionId)
      const lines = readFileSync(path, 'utf8').split('\n')
      unlinkSync(path)
      return [
        ...new Set(lines.flatMap((line) => (parseObject(line) as UndoneNotice | undefined)?.files ?? [])),
      ]
    }) ?? []
  )
}

/**
 * The files that others have changed since this session last worked here, by the newest point. Call it after
 * the point of the grant. Never throws: without an answer there is nothing to tell.
 */
export async function filesChangedByOthersSince(sessionId: string, root: string): Promise<string[]> {
  try {
    const store = findStore(root)
    const points = store === undefined ? [] : readPoints(store)
    const last = points.findLast(({ kind, session_id }) => kind === 'end' && session_id === sessionId)
    const newest = points.at(-1)
    if (store === undefined || last === undefined || newest === undefined) return []
    const [changes = []] = await diffTrees(store, [[last.tree, newest.tree]])
    return changes.map(({ path }) => utf8Of(path))
  } catch {
    return []
  }
}
