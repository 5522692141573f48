import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { lstatIfExists } from '../base/fs/exists.ts'
import { createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isNumber, isRecord, parseObject } from '../base/text/fields.ts'
import { ulid } from '../base/text/id.ts'
import { readRecord, storedIds, transcriptOf } from './conversation-record.ts'

/** What the last look at all conversations of an agent has seen. */
export interface LastLook {
  /** In milliseconds since the epoch; 0 if there was none. */
  at: number
  /** The conversations that the agent had lost by then, and the time at which each was last there. */
  lost: Readonly<Record<string, number>>
}

const pathOf = (vault: string, agent: string): string => join(vault, agent, '.last-look.json')

export function readLastLook(vault: string, agent: string): LastLook {
  const { at, lost } = parseObject(readSmallFile(pathOf(vault, agent)) ?? '') ?? {}
  return { at: isNumber(at) ? at : 0, lost: isRecord(lost) ? (lost as LastLook['lost']) : {} }
}

/** Notes which conversations an agent has now. One that is gone was last there at the look before this. */
export function noteLook(vault: string, agent: string, ids: ReadonlySet<string>, at: number): void {
  const before = readLastLook(vault, agent)
  const lost: Record<string, number> = {}
  const stored = storedIds(vault, agent)
  if (stored.length === 0) return
  for (const id of stored.filter((each) => !ids.has(each))) {
    const last = before.lost[id] ?? lastThere(join(vault, agent, id), before.at)
    if (last !== undefined) lost[id] = last
  }
  const path = pathOf(vault, agent)
  const staged = `${path}.${ulid()}`
  createPrivateFile(staged, JSON.stringify({ at, lost }))
  // Without a sync: after a power cut, the next look notes it again.
  renameSync(staged, path)
}

/** When a conversation was last there; undefined if it is now, in another directory than the agent's own. */
function lastThere(directory: string, lookedAt: number): number | undefined {
  const last = transcriptOf(readRecord(directory))?.last
  return last === undefined || lstatIfExists(last.source) ? undefined : Math.max(lookedAt, last.at)
}
