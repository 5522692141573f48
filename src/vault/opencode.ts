import { execFile } from 'node:child_process'
import { existsSync, unlinkSync, utimesSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { ifExists } from '../base/fs/exists.ts'
import { makePrivateDirectories } from '../base/fs/private-file.ts'
import { isCount, isRecord, isString } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import { readRecord } from './conversation-record.ts'
import { type Copied, copyConversation, type CopyOptions, nothingCopied } from './copy-conversation.ts'
import type { Source } from './find-conversations.ts'

/**
 * OpenCode's own commands read its database: a copy of the main file would lack what is still in the log
 * beside it. They run in `/`, where there is no project whose plugins they would load.
 */
const opencode = async (...args: string[]): Promise<Buffer> => {
  const limits = { timeout: 60_000, maxBuffer: 1 << 30, encoding: 'buffer', cwd: '/' } as const
  return (await promisify(execFile)('opencode', args, limits)).stdout
}

/** The sessions of all projects; `session list` has only those of one, and the newest of them. */
const listing = ['db', 'SELECT id, time_updated AS updated FROM session', '--format', 'json']

/** A session of OpenCode, with the time of its last change, in milliseconds since the epoch. */
export interface OpenCodeSession {
  id: string
  updated: number
}

/** The sessions of OpenCode; undefined if there is no such program. */
export async function listOpenCode(): Promise<OpenCodeSession[] | undefined> {
  const directories = (process.env.PATH ?? '').split(delimiter)
  // An attempt to start it would take as long as the look at all other agents.
  if (!directories.some((directory) => existsSync(join(directory, 'opencode')))) return undefined
  const rows: unknown = JSON.parse(String(await opencode(...listing)))
  return (Array.isArray(rows) ? rows.filter(isRecord) : [])
    .map(({ id, updated }) => ({ id, updated }) as OpenCodeSession)
    .filter(({ id, updated }) => isString(id) && isSessionId(id) && isCount(updated))
}

const exportName = 'export.json'

/** Does the vault have this state of the session? */
export const isExported = (directory: string, { updated }: OpenCodeSession): boolean =>
  readRecord(directory).files.get(exportName)?.last.mtime === updated

/** Stores an export by way of a file with the time of the session, which shows later that it is unchanged. */
export async function copyExport(
  directory: string,
  { id, updated }: OpenCodeSession,
  options: CopyOptions,
): Promise<Copied> {
  const path = join(directory, exportName)
  const source: Source = { agent: 'opencode', id, root: directory, files: [{ name: exportName, path }] }
  try {
    const bytes = await opencode('export', id)
    makePrivateDirectories(directory)
    replaceFile(path, bytes)
    utimesSync(path, updated / 1000, updated / 1000)
    return await copyConversation(directory, source, options)
  } catch (error) {
    if (error instanceof StintError) throw error
    const unread = [{ path: `opencode export ${id}`, error: errorCode(error) ?? errorMessage(error) }]
    return { ...nothingCopied(), unread }
  } finally {
    ifExists(() => unlinkSync(path))
  }
}
