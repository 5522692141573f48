import { lstatSync, rmdirSync, unlinkSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { isRealDirectory, lstatIfExists } from '../base/fs/exists.ts'
import { appendPrivateFile, ownDirectoryProblem } from '../base/fs/private-file.ts'
import { readLastLines } from '../base/fs/regular-file.ts'
import { nothingRemoved, type Removal, type RemovalOptions } from '../base/fs/remove-tree.ts'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { parseObject } from '../base/text/fields.ts'
import type { ScratchRun } from './context.ts'
import { ensureScratchDirectory, type ScratchRoot } from './root.ts'
import {
  inRemovalOrder,
  isProtected,
  isSameFile,
  protectedPaths,
  removeTracked,
  type TrackedPath,
} from './tracked.ts'

/**
 * `tracked/<requestId>`: the paths that a run tracks and the owners of the run, one JSON object a line. It
 * lies beside the scratches, not in them: a program that can write only to its scratch must not choose what a
 * sweep deletes.
 */
interface TrackedRecord {
  owners: Identity[]
  tracked: TrackedPath[]
}

const recordPath = (root: ScratchRoot, requestId: string): string => join(root.tracked, requestId)

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`

/** Records a path, preceded by the owner of the run if it is the first. */
export function recordTracked(run: ScratchRun, tracked: TrackedPath): void {
  const { root, requestId } = run
  // A full disk may have torn the last line; after a failed append, start on a new line.
  const lines = `${run.recorded ? '' : `\n${lineOf({ owner: run.owner })}`}${lineOf(tracked)}`
  run.recorded = false
  append(root, requestId, lines)
  run.recorded = true
}

function append(root: ScratchRoot, requestId: string, lines: string): void {
  // A run that deletes the last record also removes the directory, perhaps just after the check here.
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

/** Reads a record; undefined if it is missing or not a regular file. Throws if it cannot be read. */
export function readTrackedRecord(root: ScratchRoot, requestId: string): TrackedRecord | undefined {
  const directory = lstatSync(root.tracked, { throwIfNoEntry: false })
  if (directory === undefined || ownDirectoryProblem(directory) !== undefined) return undefined
  const path = recordPath(root, requestId)
  if (!lstatIfExists(path)?.isFile()) return undefined
  return parseTrackedRecord(readLastLines(path, undefined, 'throwOnError'))
}

/** Parses the lines of a record; skips those that are invalid. */
export function parseTrackedRecord(lines: readonly string[]): TrackedRecord {
  const record: TrackedRecord = { owners: [], tracked: [] }
  for (const line of lines) {
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

/** Replaces a record by what is left of it; deletes it if nothing is left. */
function rewriteTrackedRecord(root: ScratchRoot, requestId: string, record: TrackedRecord): void {
  if (record.tracked.length === 0) return deleteTrackedRecord(root, requestId)
  const lines = [...record.owners.map((owner) => ({ owner })), ...record.tracked].map(lineOf)
  replaceFile(recordPath(root, requestId), lines.join(''))
}

/** Deletes a record, or an unfinished rewrite of one, and the directory of the records if it is empty. */
export function deleteTrackedRecord(root: ScratchRoot, name: string): void {
  try {
    unlinkSync(recordPath(root, name))
    rmdirSync(root.tracked)
  } catch {
    // There was no record, or the directory has the records of other runs.
  }
}

/** The removal of one path that a dead run tracked. */
interface DeadTracked {
  path: string
  type: 'file' | 'directory'
  removal: Removal
}

/**
 * Decides what a sweep does with a tracked path. `forget`: it is gone or replaced by another file. `spare`:
 * this sweep must not remove it, for example because it is its current directory; another sweep may. If the
 * path cannot be examined, the sweep tries to remove it.
 */
function trackedPathFate(
  { path, file }: TrackedPath,
  root: ScratchRoot,
  protectedDirectories: readonly string[],
): 'remove' | 'spare' | 'forget' {
  const isGone = ifPossible(() => {
    const stat = lstatIfExists(path)
    return stat === undefined || !isSameFile(file, stat)
  })
  return isGone ? 'forget' : isProtected(path, root, protectedDirectories) ? 'spare' : 'remove'
}

/** The paths that a run tracks, and whether a sweep would remove them; none if the record is unreadable. */
export const listTracked = (root: ScratchRoot, requestId: string): (TrackedPath & { sweepable: boolean })[] =>
  ifPossible(() => {
    const protectedDirectories = protectedPaths(root)
    const { tracked = [] } = readTrackedRecord(root, requestId) ?? {}
    return tracked.map((path) => ({
      ...path,
      sweepable: trackedPathFate(path, root, protectedDirectories) === 'remove',
    }))
  }) ?? []

/** Removes the paths that an ended run tracked. Its record keeps those that stay. Never throws. */
export function* removeDeadTracked(
  root: ScratchRoot,
  requestId: string,
  options: RemovalOptions = {},
): Generator<void, DeadTracked[]> {
  let record: TrackedRecord | undefined
  try {
    record = readTrackedRecord(root, requestId)
  } catch (error) {
    const path = `${root.tracked}/${requestId}`
    const failure = { path, type: 'file' as const, error: errorCode(error) ?? String(error) }
    return [{ path, type: 'file', removal: { ...nothingRemoved(), failures: [failure] } }]
  }
  if (record === undefined) return []
  const gone: DeadTracked[] = []
  const remaining: TrackedPath[] = []
  const protectedDirectories = protectedPaths(root)
  for (const tracked of inRemovalOrder(record.tracked)) {
    yield
    const fate = trackedPathFate(tracked, root, protectedDirectories)
    if (fate === 'spare') remaining.push(tracked)
    if (fate !== 'remove') continue
    const type = isRealDirectory(tracked.path) ? 'directory' : 'file'
    const removal = removeTracked(tracked, { ...options, onlyIfSame: true })
    gone.push({ path: tracked.path, type, removal })
    if (removal.failures.length > 0 || !removal.complete) remaining.push(tracked)
  }
  try {
    rewriteTrackedRecord(root, requestId, { ...record, tracked: remaining })
  } catch {
    // With a full disk the record stays as it is; the next sweep finds the removed paths gone.
  }
  return gone
}
