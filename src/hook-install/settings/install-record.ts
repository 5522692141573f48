import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { HostName } from '../../hook/host.ts'
import { computeWorkspaceHash } from '../../lease/index.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { isOptional, isString } from '../../base/text/fields.ts'
import { codedError } from '../../base/errors/stint-error.ts'
import { unlinkIfExists } from './settings-file.ts'
import type { InstallPlace } from '../agents.ts'

/**
 * The record of an installation, which tells whether the file has changed since. It contains nothing of the
 * file, which may contain secrets.
 */
export interface InstallRecord {
  schema_version: 1
  agent: HostName
  place: InstallPlace
  path: string
  /** The file existed before the installation. */
  existed: boolean
  /** The hash of the installed file; null if the file had changed before the last update. */
  sha256: string | null
  /** The words of the chosen options, for an installation after another program has removed the hooks. */
  options?: string[]
  /** What stint has in the file; absent in the records of earlier versions, which had only hooks. */
  parts?: PartName[]
}

/** What stint can have in a settings file. */
export type PartName = 'hooks' | 'mcp'

const isPartName = (value: unknown): value is PartName => value === 'hooks' || value === 'mcp'

/** The parts that stint has in a file, by its record. */
export const partsOf = (record: InstallRecord | undefined): PartName[] =>
  record === undefined ? [] : (record.parts ?? ['hooks'])

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const directory = (): string => join(stintHome(), 'hooks')
const recordPath = (path: string): string => join(directory(), `${computeWorkspaceHash(path)}.json`)

/** The record of a file; undefined if it is missing or invalid. */
export function readRecord(path: string): InstallRecord | undefined {
  try {
    const record = JSON.parse(readSmallFile(recordPath(path)) ?? '') as Partial<InstallRecord>
    const valid =
      record.schema_version === 1 &&
      record.path === path &&
      typeof record.existed === 'boolean' &&
      (record.sha256 === null || isString(record.sha256)) &&
      isOptional(record.options, (words) => Array.isArray(words) && words.every(isString)) &&
      isOptional(record.parts, (parts) => Array.isArray(parts) && parts.every(isPartName))
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
