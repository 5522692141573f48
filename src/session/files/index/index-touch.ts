import { basename, dirname, join } from 'node:path'
import { isSessionId, ulid } from '../../../base/text/id.ts'
import { type IndexFile, IndexFiles } from './index-files.ts'
import { encodeIndexLine, type TouchedRow } from './index-lines.ts'

/** A session that was touched in the index, and where that was written. */
export interface Touch {
  row: TouchedRow
  files: IndexFiles
  file: Omit<IndexFile, 'bytes'> | undefined
}

/** Where the index is that has a session. */
export const indexDirectory = (sessions: string): string => join(sessions, '.index')

/**
 * Before the session in this directory is taken with this epoch. On return, no list believes what the index says of it. Undefined for one that is not there
 * for others yet.
 */
export function touchSession(directory: string, epoch: number): Touch | undefined {
  const id = basename(directory)
  if (!isSessionId(id)) return undefined
  const files = new IndexFiles(indexDirectory(dirname(directory)))
  const row: TouchedRow = [id, ulid(), epoch]
  return { row, files, file: append(files, row) }
}

/** After it was taken: an index that was thrown away in between has forgotten the touch. */
export function confirmTouch(touch: Touch | undefined): void {
  if (touch?.file === undefined || touch.files.isCurrent(touch.file)) return
  append(touch.files, touch.row)
}

/** Where a line cannot be written, what is there must go: it would be believed. */
function append(files: IndexFiles, row: TouchedRow): Touch['file'] {
  if (!files.prepare()) return undefined
  try {
    return files.append(encodeIndexLine({ touched: [row] }))
  } catch {
    files.removeAll()
    return undefined
  }
}
