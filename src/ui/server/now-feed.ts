import { ifPossible } from '../../base/errors/if-possible.ts'
import { systemClock } from '../../base/process/clock.ts'
import { describeLook, freshSources, lookAround } from '../../cli/status/gather.ts'
import { chooseNext } from '../../cli/status/overview.ts'
import { promptedSessions } from '../../hooks/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import { tilesOf } from './now-view.ts'
import type { NowView } from './protocol.ts'
import { incidentsIn, isInternal, readPlaces, type StoredLeases } from './workspaces.ts'

/** How many of the newest sessions are read; the list of sessions has all. */
const newest = 200
/** The temp directory and the hooks of agents change rarely, and are slow to read, in milliseconds. */
const slowPartsMs = 30_000
const maxIncidents = 50

/** Reads what every session does, whenever it is called; keeps what is slow to read for a while. */
export function createNowFeed(stores: readonly StoredLeases[]): () => Promise<NowView> {
  const entries = keptFor(slowPartsMs, () => freshSources.entries(Date.now()))
  const hooks = keptFor(slowPartsMs, () => freshSources.hooks())
  const server = keptFor(0, () => freshSources.server())
  const readings = stores.map((store) => {
    const read = () => readPlaces(store).catch(() => [])
    // A server that does not answer must not hold up the rest.
    return store.store === 'files' ? read : keptFor(0, read)
  })
  const sessions = (home: string) => listSessionsIn(home, { newest })
  return async () => {
    const look = await lookAround({ sessions, server, entries, hooks })
    const { findings, agents } = describeLook(look)
    const places = (await Promise.all(readings.map((read) => read()))).flat()
    const targets = [...(look.home.claims?.targets ?? []), ...(look.server?.targets ?? [])]
    return {
      tiles: tilesOf({
        at: look.at,
        targets: targets.filter(({ title }) => !isInternal(title)),
        sessions: [...look.home.sessions, ...(look.server?.sessions ?? [])],
        prompts: ifPossible(() => promptedSessions(process.env)) ?? [],
        activities: places.flatMap((place) => place.activities),
      }),
      incidents: incidentsIn(places, look.at).slice(0, maxIncidents),
      next: chooseNext({ findings, agents, risks: null, left_behind: null }),
      findings,
    }
  }
}

/**
 * Returns what was read last, and reads again if that is older than this. Only the first call waits for a
 * slow answer.
 */
function keptFor<Value>(maxAgeMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<Value> | undefined
  let dueMs = 0
  return async () => {
    if (systemClock.mono() >= dueMs) {
      dueMs = Number.POSITIVE_INFINITY
      const reading = read()
      last ??= reading
      const keep = (): void => {
        last = reading
        dueMs = systemClock.mono() + maxAgeMs
      }
      reading.then(keep, keep)
    }
    return await (last as Promise<Value>)
  }
}
