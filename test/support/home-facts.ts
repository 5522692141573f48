import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { allClaims, fileStore } from '../../src/lease/index.ts'
import { FilesMedium } from '../../src/session/files/medium.ts'
import { createStore } from '../../src/session/index.ts'
import { allOf } from './all-of.ts'
import { readIfThere } from './read-if-there.ts'

/** What a user can find in a session. */
export interface SessionFacts {
  /** False if a record is missing or changed. */
  whole: boolean
  /** The type and data of each event. */
  events: string[]
  /** The action and phase of each line of the audit log. */
  audit: string[]
}

/** What commands have done in a home. */
export interface HomeFacts {
  sessions: Record<string, SessionFacts>
  /** `<workspace or resource> <session>` for each claim. */
  claims: string[]
  /** The names in the trash. */
  trash: string[]
  /** What programs that stint started have written into `ran`, beside the home. */
  ran: string
}

/** Reads everything in the home of a place, in this process and without a fault. */
export async function readHomeFacts(place: string): Promise<HomeFacts> {
  const home = join(place, 'home')
  const { targets, unreadable } = await allClaims(fileStore(home))
  if (unreadable.length > 0) throw new Error(`unreadable claims: ${JSON.stringify(unreadable)}`)
  const driver = new FilesMedium({ home })
  const ids = await driver.ids('')
  return {
    sessions: Object.fromEntries(
      await Promise.all(ids.map(async (id) => [id, await readSessionFacts(driver, id)] as const)),
    ),
    claims: targets
      .flatMap(({ title, claims }) => claims.map(({ session_id }) => `${title} ${session_id}`))
      .sort(),
    trash: namesIn(join(home, 'trash')),
    ran: readIfThere(join(place, 'ran')),
  }
}

async function readSessionFacts(driver: FilesMedium, id: string): Promise<SessionFacts> {
  const inspection = await createStore(driver).inspect(id)
  const { ok, journal } = await inspection.health()
  const events = (await allOf(inspection.events({ all: true }))).map(
    ({ type, data }) => `${type} ${JSON.stringify(data)}`,
  )
  const audit = await allOf(inspection.audit())
  return {
    whole: ok || journal.state === 'torn',
    events,
    audit: audit.map(({ type, action }) => `${type} ${action}`),
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    return []
  }
}

/**
 * Has nothing happened? A new session without records counts as nothing: a visit that could not write its
 * first record has made it, and the next visit uses it.
 */
export function isUnchanged(before: HomeFacts, { sessions, ...after }: HomeFacts): boolean {
  const known = Object.entries(sessions).filter(
    ([id, { events, audit }]) => id in before.sessions || events.length + audit.length > 0,
  )
  return isDeepStrictEqual(before, { sessions: Object.fromEntries(known), ...after })
}
