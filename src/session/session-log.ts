import { closeSync, fsyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { appendBoundedLog, readBoundedLog } from '../base/fs/bounded-log.ts'
import { ensureHomeDirectory } from '../base/fs/home.ts'
import { isNumber, isString, parseObject } from '../base/text/fields.ts'

/** What a command did to a whole session: a line that is there when the session is not. */
export interface SessionLogLine {
  /** Milliseconds since the epoch. */
  at: number
  action: 'remove' | 'restore' | 'close' | 'unlock'
  session_id: string
  /** `filesystem` or `postgres`. */
  store: string
  /** The user who did it. */
  by: string
  title?: string
  records?: number
  /** The command and its options: `sessions prune --keep 100`. */
  command: string
}

const maxLogBytes = 512 << 10
const logPath = (home: string): string => join(home, 'activity', 'sessions.log')

/** Adds lines to the log of sessions in the home; on return they are on disk. */
export function logSessions(home: string, lines: readonly SessionLogLine[]): void {
  if (lines.length === 0) return
  for (const path of [home, join(home, 'activity')]) ensureHomeDirectory(path)
  const path = logPath(home)
  appendBoundedLog(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), maxLogBytes)
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The lines that the log still has, oldest first: about the last 2,000. */
export const readSessionLog = (home: string): SessionLogLine[] =>
  readBoundedLog(logPath(home), maxLogBytes).flatMap((line) => {
    const value = parseObject(line)
    const isLine = isNumber(value?.at) && isString(value.action) && isString(value.session_id)
    return isLine ? [value as unknown as SessionLogLine] : []
  })
