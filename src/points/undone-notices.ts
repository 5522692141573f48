import { readFileSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { homePath } from '../base/fs/home.ts'
import { utf8Of } from '../base/fs/paths.ts'
import { appendPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'

const noticeDirectory = (env?: NodeJS.ProcessEnv): string => join(homePath(env), 'points/undone')

const noticeFile = (sessionId: string, env?: NodeJS.ProcessEnv): string =>
  join(noticeDirectory(env), encodeURIComponent(sessionId))

/** Leaves a notice for each of these sessions that files of its work were taken back. */
export function leaveNotices(sessionIds: Iterable<string>, latin1Paths: readonly string[]): void {
  for (const sessionId of sessionIds) addNotices(sessionId, latin1Paths.map(utf8Of))
}

/** Takes back what a session was not told yet, as a redo has given these files back to it. */
export function withdrawNotices(sessionIds: Iterable<string>, latin1Paths: readonly string[]): void {
  const restored = new Set(latin1Paths.map(utf8Of))
  const isUndone = (path: string): boolean => !restored.has(path)
  for (const sessionId of sessionIds) addNotices(sessionId, takeUndoneNotices(sessionId).filter(isUndone))
}

function addNotices(sessionId: string, paths: readonly string[]): void {
  if (paths.length === 0) return
  makePrivateDirectories(noticeDirectory())
  appendPrivateFile(noticeFile(sessionId), paths.map((path) => `${path}\0`).join(''))
}

/**
 * Returns the files of a session's work that were taken back since it was last asked. Costs one failed `open`
 * where nothing was undone. Never throws.
 */
export function takeUndoneNotices(sessionId: string, env?: NodeJS.ProcessEnv): string[] {
  const files = ifPossible(() => {
    const path = noticeFile(sessionId, env)
    const text = readFileSync(path, 'utf8')
    unlinkSync(path)
    return [...new Set(text.split('\0').slice(0, -1))]
  })
  return files ?? []
}

/** Removes notices for sessions that never had another prompt. */
export function sweepNotices(olderThan: number): void {
  for (const name of listIfReadable(noticeDirectory())) {
    const path = join(noticeDirectory(), name)
    ifPossible(() => statSync(path).mtimeMs < olderThan && unlinkSync(path))
  }
}
