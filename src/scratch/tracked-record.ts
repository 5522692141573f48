import { closeSync, lstatSync, readFileSync, rmdirSync, unlinkSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { notRegularCodes, openRegular } from '../base/fs/regular-file.ts'
import { ownDirectoryProblem } from '../base/fs/own-directory.ts'
import { parseObject } from '../base/text/fields.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { ensureScratchDirectory, type ScratchRoot } from './root.ts'
import type { ScratchRun } from './scratch-run.ts'
import type { TrackedPath } from './tracked.ts'

/**
 * `tracked/<requestId>`: what a run tracks, a JSON object a line, and whose run it is. Beside the scratches, not in them: a program that may write
 * only to its scratch must not choose what a sweep deletes.
 */
export interface TrackedRecord {
  /** Those whose run it is. */
  owners: Identity[]
  tracked: TrackedPath[]
}

const recordPath = (root: ScratchRoot, requestId: string): string => join(root.tracked, requestId)

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Adds a path, and, if it is our first, whose run it is. */
export function recordTracked(run: ScratchRun, tracked: TrackedPath): void {
  const { root, requestId } = run
  // The last line may be half of one that a full disk has cut off: ours must not be joined to it.
  const lines = `${run.recorded ? '' : `\n${lineOf({ owner: run.owner })}`}${lineOf(tracked)}`
  run.recorded = false
  append(root, requestId, lines)
  run.recorded = true
}

function append(root: ScratchRoot, requestId: string, lines: string): void {
  // The last run to forget what it tracks removes the directory: perhaps just after we have seen it there.
  for (let tries = 0; ; tries++) {
    try {
      ensureScratchDirectory(root.tracked)
      return appendPrivateFile(recordPath(root, requestId), lines)
    } catch (error) {
      const wasRemoved =
        errorCode(error) === 'ENOENT' || (error instanceof StintError && error.code === 'TEMP_DIR_MISSING')
      if (!wasRemoved || tries === 100) throw codedError(error, `track a path in ${root.tracked}`)
    }
  }
}

/** Undefined if there is none, or what is there cannot be one. Throws if it cannot be read. */
export function readTrackedRecord(root: ScratchRoot, requestId: string): TrackedRecord | undefined {
  const directory = lstatSync(root.tracked, { throwIfNoEntry: false })
  if (directory === undefined || ownDirectoryProblem(directory) !== undefined) return undefined
  let fd: number
  try {
    fd = openRegular(recordPath(root, requestId)).fd
  } catch (error) {
    if (notRegularCodes.has(errorCode(error))) return undefined
    throw error
  }
  try {
    return parseTrackedRecord(readFileSync(fd, 'utf8'))
  } finally {
    closeSync(fd)
  }
}

/** What makes no sense is passed over; a line that was never finished names nothing. */
export function parseTrackedRecord(text: string): TrackedRecord {
  const record: TrackedRecord = { owners: [], tracked: [] }
  for (const line of text.split('\n').slice(0, -1)) {
    const value = parseObject(line)
    const owner = parseIdentity(value?.owner)
    const tracked = value && parseTracked(value)
    if (owner !== undefined) record.owners.push(owner)
    else if (tracked !== undefined) record.tracked.push(tracked)
  }
  return record
}

function parseTracked({ path, parent, file, context }: Record<string, unknown>): TrackedPath | undefined {
  if (typeof path !== 'string' || !isAbsolute(path) || path.includes('\0')) return undefined
  return {
    path,
    parent: identityOf(parent),
    file: fileOf(file),
    ...(typeof context === 'string' && { context }),
  }
}

function identityOf(value: unknown): TrackedPath['parent'] {
  if (typeof value !== 'object' || value === null) return null
  const { dev, ino } = value as Record<string, unknown>
  return typeof dev === 'number' && typeof ino === 'number' ? { dev, ino } : null
}

function fileOf(value: unknown): TrackedPath['file'] {
  const identity = identityOf(value)
  const born = (value as { born?: unknown } | null)?.born
  return identity !== null && typeof born === 'number' ? { ...identity, born } : null
}

/** What is left to do of it; nothing left: there is no record any more. */
export function rewriteTrackedRecord(root: ScratchRoot, requestId: string, left: TrackedRecord): void {
  if (left.tracked.length === 0) return deleteTrackedRecord(root, requestId)
  const lines = [...left.owners.map((owner) => ({ owner })), ...left.tracked].map(lineOf)
  replaceFile(recordPath(root, requestId), lines.join(''))
}

/** Removes a record, finished or not, and the directory of the records if it was the last. */
export function deleteTrackedRecord(root: ScratchRoot, name: string): void {
  try {
    unlinkSync(recordPath(root, name))
    rmdirSync(root.tracked)
  } catch {
    // There was none, or other runs have theirs.
  }
}
