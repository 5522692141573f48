import { readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { homePath } from '../base/fs/home.ts'
import { utf8Of } from '../base/fs/paths.ts'
import { appendPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { parseObject } from '../base/text/fields.ts'

/** What a session is told at its next prompt: these files of its work were taken back. */
export interface UndoneNotice {
  root: string
  at: number
  files: string[]
}

const noticeDirectory = (env?: NodeJS.ProcessEnv): string => join(homePath(env), 'points/undone')

const noticeFile = (sessionId: string, env?: NodeJS.ProcessEnv): string =>
  join(noticeDirectory(env), encodeURIComponent(sessionId))

/** Leaves a notice for each of these sessions. Paths are in Latin-1. */
export function leaveNotices(
  sessionIds: Iterable<string>,
  { root, at, paths }: { root: string; at: number; paths: readonly string[] },
): void {
  const notice: UndoneNotice = { root, at, files: paths.map(utf8Of) }
  makePrivateDirectories(noticeDirectory())
  for (const sessionId of sessionIds) appendPrivateFile(noticeFile(sessionId), `${JSON.stringify(notice)}\n`)
}

/**
 * Returns the undos of a session's work since it was last asked; each is told once. Costs one failed `open`
 * where nothing was undone. Never throws.
 */
export function takeUndoneNotices(sessionId: string, env?: NodeJS.ProcessEnv): UndoneNotice[] {
  const notices = ifPossible(() => {
    const path = noticeFile(sessionId, env)
    const lines = readFileSync(path, 'utf8').split('\n')
    unlinkSync(path)
    return lines.flatMap((line) => (parseObject(line) as UndoneNotice | undefined) ?? [])
  })
  return notices ?? []
}
