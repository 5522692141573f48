import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { AgentName } from '../../hook/hosts.ts'
import { computeWorkspaceHash } from '../../lease/index.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { codedError } from '../../base/errors/stint-error.ts'
import { unlinkIfExists } from './settings-file.ts'
import type { Place } from '../install-scope.ts'

/**
 * What we remember of an installation: enough to tell whether anybody has changed the file since. Nothing of the file's content is kept here, it may
 * have secrets.
 */
export interface InstallRecord {
  schema_version: 1
  agent: AgentName
  place: Place
  path: string
  /** Was there a file before? */
  existed: boolean
  /** Of the file as we left it; null if somebody had changed it before we last did. */
  sha256: string | null
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const directory = (): string => join(stintHome(), 'hooks')
const recordPath = (path: string): string => join(directory(), `${computeWorkspaceHash(path)}.json`)

/** Undefined if there is none, or not one that can be understood: then the file itself has to tell. */
export function readRecord(path: string): InstallRecord | undefined {
  try {
    const record = JSON.parse(readSmallFile(recordPath(path)) ?? '') as Partial<InstallRecord>
    const valid =
      record.schema_version === 1 &&
      record.path === path &&
      typeof record.existed === 'boolean' &&
      (record.sha256 === null || typeof record.sha256 === 'string')
    return valid ? (record as InstallRecord) : undefined
  } catch {
    return undefined
  }
}

export function writeRecord(record: InstallRecord): void {
  ensureHomeDirectory(stintHome())
  ensureHomeDirectory(directory())
  try {
    replaceFile(recordPath(record.path), `${JSON.stringify(record)}\n`)
  } catch (error) {
    throw codedError(error, `write ${recordPath(record.path)}`)
  }
}

export const removeRecord = (path: string): void => unlinkIfExists(recordPath(path))
