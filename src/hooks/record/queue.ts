import { closeSync, fdatasyncSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { listIfExists, nodeDisk } from '../../base/fs/disk.ts'
import { ensureHome, ensureHomeDirectory } from '../../base/fs/home.ts'
import { ulidAfter } from '../../base/text/id.ts'
import { openPrivateFile, writeAll } from '../../base/fs/private-file.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import type { NewAudit, NewEvent } from '../../session/index.ts'

/** The records of one event for the session's journal and audit log. */
export interface CallRecords {
  audit: NewAudit
  event: NewEvent
}

/** A tool call that waits for a recorder. The queue has a file for each event, in the order of the names. */
export interface QueuedCall extends CallRecords {
  session: string
  tool: string
  workspace: string | undefined
  /** Were secrets replaced in it? */
  masked: boolean
}

const queueOf = (home: string): string => join(home, 'hook-queue')

/** Adds a call to the queue; with `durable`, it is on disk before the tool runs. */
export function enqueue(home: string, call: QueuedCall, durable: boolean): void {
  const queue = queueOf(home)
  ensureHome(home)
  ensureHomeDirectory(queue)
  // After all that wait: the intent of an outcome may be among them, from before the clock was set back.
  const name = `${ulidAfter(queuedFiles(home).at(-1))}.json`
  const staged = join(queue, `.${name}`)
  const fd = openPrivateFile(staged, 'wx')
  try {
    writeAll(fd, JSON.stringify(call))
    // A recorder may read the queue at any moment: the rename publishes the whole file at once.
    renameSync(staged, join(queue, name))
    if (!durable) return
    fdatasyncSync(fd)
    nodeDisk.syncDirectory(queue)
  } catch (error) {
    rmSync(staged, { force: true })
    throw error
  } finally {
    closeSync(fd)
  }
}

/** The id in a file name, which stays when a recorder marks the file as taken. */
export const queueIdOf = (name: string): string => name.slice(0, 26)

const isName = (name: string): boolean => /^[0-9A-HJKMNP-TV-Z]{26}\.json(\.taken)?$/.test(name)

/** The names of the queued files, oldest first. */
export const queuedFiles = (home: string): string[] =>
  listIfExists(nodeDisk, queueOf(home)).filter(isName).sort()

export interface QueueEntry {
  /** Unique among all records. */
  id: string
  call: QueuedCall
  /** An earlier recorder has begun with it and died or failed: parts of it may be in the session. */
  again: boolean
  begin: () => void
  done: () => void
}

/** Reads a queued file, for the holder of the queue's lease; removes an invalid one. */
export function readQueued(home: string, name: string): QueueEntry | undefined {
  const path = join(queueOf(home), name)
  const again = name.endsWith('.taken')
  const taken = again ? path : `${path}.taken`
  const call = parse(readSmallFile(path, 'throwOnError'))
  if (call !== undefined)
    return {
      id: queueIdOf(name),
      call,
      again,
      begin: () => again || renameSync(path, taken),
      done: () => rmSync(taken, { force: true }),
    }
  // The machine crashed before the file was on disk, so no hook has allowed the call.
  rmSync(path, { force: true })
  return undefined
}

function parse(text = ''): QueuedCall | undefined {
  try {
    const value = JSON.parse(text) as Partial<QueuedCall> | null
    const isWhole = [value?.event, value?.audit].every((part) => typeof part === 'object' && part !== null)
    return isWhole && typeof value?.session === 'string' ? (value as QueuedCall) : undefined
  } catch {
    return undefined
  }
}

/** Far longer than any hook runs. */
const abandonedMs = 3_600_000

/** Removes the staged files of hooks that were killed while they wrote. */
export function removeAbandonedFiles(home: string, now: number): void {
  const queue = queueOf(home)
  for (const name of listIfExists(nodeDisk, queue)) {
    if (!name.startsWith('.') || !isName(name.slice(1))) continue
    const stat = statSync(join(queue, name), { throwIfNoEntry: false })
    if (stat !== undefined && now - stat.mtimeMs > abandonedMs) rmSync(join(queue, name), { force: true })
  }
}
