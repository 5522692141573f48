import { closeSync, fdatasyncSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHomeDirectory } from '../../primitives/home.ts'
import { ulid } from '../../primitives/id.ts'
import { openPrivateFile } from '../../primitives/private-file.ts'
import { readSmallFile } from '../../primitives/small-file.ts'
import { errnoOf } from '../../primitives/stint-error.ts'
import type { Entries } from './entries.ts'

/**
 * What hooks have to record waits here until a recorder writes it into the session: a hook must not make an agent wait for that. A file an event, in
 * the order of their names.
 */
export interface Waiting extends Entries {
  session: string
  tool: string
  workspace: string | undefined
}

export const queueOf = (home: string): string => join(home, 'hook-queue')

/** On disk on return if it must be: what is about to be done is known before it is. */
export function enqueue(home: string, waiting: Waiting, durable: boolean): void {
  const queue = queueOf(home)
  for (const directory of [home, queue]) ensureHomeDirectory(directory)
  const fd = openPrivateFile(join(queue, `${ulid()}.json`), 'wx')
  try {
    writeSync(fd, JSON.stringify(waiting))
    if (durable) fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

const isName = (name: string): boolean => /^[0-9A-HJKMNP-TV-Z]{26}\.json(\.taken)?$/.test(name)

/** A recorder that took one and has not finished it by now is dead. */
const takenForMs = 60_000

/** How many wait. */
export const waitingIn = (home: string): string[] => list(queueOf(home)).filter(isName).sort()

function list(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}

/** Takes one out, so that no other recorder has it too; undefined if another was faster, or if it makes no sense. `done` removes it. */
export function take(
  home: string,
  name: string,
  now: number,
): { waiting: Waiting; done: () => void } | undefined {
  const path = join(queueOf(home), name)
  const taken = name.endsWith('.taken') ? path : `${path}.taken`
  try {
    if (path === taken && now - statSync(path).mtimeMs < takenForMs) return undefined
    if (path !== taken) renameSync(path, taken)
    const waiting = JSON.parse(readSmallFile(taken) ?? '') as Waiting
    return { waiting, done: () => rmSync(taken, { force: true }) }
  } catch (error) {
    // A hook that died while it wrote: what it was about to record, it has never allowed.
    if (error instanceof SyntaxError) rmSync(taken, { force: true })
    return undefined
  }
}
