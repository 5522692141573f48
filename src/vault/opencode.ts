import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isCount, isRecord, isString } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'

const run = promisify(execFile)
const limits = { timeout: 60_000, maxBuffer: 1 << 30, encoding: 'buffer' } as const

export interface OpenCodeSession {
  id: string
  /** When it last changed, in milliseconds since the epoch. */
  updated: number
}

/**
 * The sessions that OpenCode lists; none if there is no such program. Its database is left alone: a copy of
 * the main file would lack what is still in the log beside it.
 */
export async function listOpenCode(): Promise<OpenCodeSession[]> {
  try {
    const { stdout } = await run('opencode', ['session', 'list', '--format', 'json'], limits)
    const rows: unknown = JSON.parse(String(stdout).trim() || '[]')
    return (Array.isArray(rows) ? rows.filter(isRecord) : [])
      .filter(({ id, updated }) => isString(id) && isSessionId(id) && isCount(updated))
      .map(({ id, updated }) => ({ id: id as string, updated: updated as number }))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** The JSON of one session, from OpenCode's own `export`. */
export const exportOpenCode = async (id: string): Promise<Buffer> =>
  (await run('opencode', ['export', id], limits)).stdout
