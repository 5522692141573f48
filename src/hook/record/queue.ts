import { closeSync, fdatasyncSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { listIfExists, nodeDisk } from '../../base/fs/disk.ts'
import { ensureHomeDirectory } from '../../base/fs/home.ts'
import { ulid } from '../../base/text/id.ts'
import { openPrivateFile, writeAll } from '../../base/fs/private-file.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import type { Entries } from './entries.ts'

/**
 * What hooks have to record waits here until a recorder writes it into the session: a hook must not make an
 * agent wait for that. A file an event, in the order of their names.
 */
export interface Waiting extends Entries {
  session: string
  tool: string
  workspace: string | undefined
}

const queueOf = (home: string): string => join(home, 'hook-queue')

/** A process that lives on, as OpenCode does, may have two in a millisecond, or a clock that is set back. */
let lastAt = 0

/** On disk on return if it must be: what is about to be done is known before it is. */
export function enqueue(home: string, waiting: Waiting, durable: boolean): void {
  const queue = queueOf(home)
  for (const directory of [home, queue]) ensureHomeDirectory(directory)
  lastAt = Math.max(Date.now(), lastAt + 1)
  const name = `${ulid(lastAt)}.json`
  const staged = join(queue, `.${name}`)
  const fd = openPrivateFile(staged, 'wx')
  try {
    writeAll(fd, JSON.stringify(waiting))
    // There whole, or not at all: a recorder may look at any moment.
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

/** The part of a name that stays when a recorder has begun with it. */
export const idOf = (name: string): string => name.slice(0, 26)

const isName = (name: string): boolean => /^[0-9A-HJKMNP-TV-Z]{26}\.json(\.taken)?$/.test(name)

/** What waits, the oldest first. */
export const waitingIn = (home: string): string[] =>
  listIfExists(nodeDisk, queueOf(home)).filter(isName).sort()

export interface Queued {
  /** No other record has it. */
  id: string
  waiting: Waiting
  /** A recorder has begun with it before, and died or failed: some of it may be in the session. */
  again: boolean
  begin: () => void
  done: () => void
}

/**
 * One of those that wait; undefined if it makes no sense: then it is gone. Only for whoever holds the queue.
 */
export function readQueued(home: string, name: string): Queued | undefined {
  const path = join(queueOf(home), name)
  const again = name.endsWith('.taken')
  const taken = again ? path : `${path}.taken`
  const waiting = parse(readSmallFile(path, 'insist'))
  if (waiting !== undefined)
    return {
      id: idOf(name),
      waiting,
      again,
      begin: () => again || renameSync(path, taken),
      done: () => rmSync(taken, { force: true }),
    }
  // The machine went down before it was on disk: what it was about, no hook has allowed.
  rmSync(path, { force: true })
  return undefined
}

function parse(text = ''): Waiting | undefined {
  try {
    const value = JSON.parse(text) as Partial<Waiting> | null
    const isWhole = [value?.event, value?.audit].every((part) => typeof part === 'object' && part !== null)
    return isWhole && typeof value?.session === 'string' ? (value as Waiting) : undefined
  } catch {
    return undefined
  }
}

/** Far longer than any hook lives. */
const abandonedMs = 3_600_000

/** Removes what hooks have left that were killed while they wrote. */
export function removeAbandoned(home: string, now: number): void {
  const queue = queueOf(home)
  for (const name of listIfExists(nodeDisk, queue)) {
    if (!name.startsWith('.') || !isName(name.slice(1))) continue
    const stat = statSync(join(queue, name), { throwIfNoEntry: false })
    if (stat !== undefined && now - stat.mtimeMs > abandonedMs) rmSync(join(queue, name), { force: true })
  }
}
