import { ifPossible } from '../../base/errors/if-possible.ts'
import { systemClock } from '../../base/process/clock.ts'
import type { ServerContents } from '../../cli/health/postgres.ts'
import { describeLook, freshSources, lookAround } from '../../cli/status/gather.ts'
import { chooseNext } from '../../cli/status/overview.ts'
import { promptedSessions } from '../../hooks/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import type { NowView } from '../protocol.ts'
import { maxTiles, tilesOf, totalsOf } from './now-view.ts'
import { isInternal, type Places } from './workspaces.ts'

/** The temp directory and the hooks of agents change rarely, and are slow to read, in milliseconds. */
const slowPartsMs = 30_000
const maxIncidents = 50

/** Reads what every session does, when it is asked; keeps what is slow to read for a while. */
export class NowFeed {
  readonly #readOnly: boolean
  readonly #places: readonly Places[]
  readonly #entries = keptFor(slowPartsMs, () => freshSources.entries(Date.now()))
  readonly #hooks = keptFor(slowPartsMs, () => freshSources.hooks())
  readonly #server = lastOutcomeOf(() => this.#readServer())
  #looking: Promise<NowView> | undefined

  constructor(readOnly: boolean, places: readonly Places[]) {
    this.#readOnly = readOnly
    this.#places = places
  }

  async look(): Promise<NowView> {
    // A look that is under way may have missed the last change.
    await this.#looking?.catch(() => {})
    return await (this.#looking ??= this.#gather().finally(() => (this.#looking = undefined)))
  }

  async #gather(): Promise<NowView> {
    const look = await lookAround({
      sessions: (home) => listSessionsIn(home, { newest: maxTiles }),
      server: this.#server,
      entries: this.#entries,
      hooks: this.#hooks,
    })
    const { at, home, server } = look
    const { runs, findings, agents } = describeLook(look)
    await this.#refresh('files')
    const targets = [...(home.claims?.targets ?? []), ...(server?.targets ?? [])]
    const tiles = tilesOf({
      at,
      targets: targets.filter(({ workspace }) => !isInternal(workspace)),
      sessions: [...home.sessions, ...(server?.sessions ?? [])],
      prompts: ifPossible(() => promptedSessions(process.env)) ?? [],
      lastActivityOf: (id) => Math.max(...this.#places.map((place) => place.lastActivityOf(id))),
    })
    const incidents = this.#places.flatMap((place) => place.incidents(at)).sort((a, b) => b.at - a.at)
    return {
      read_only: this.#readOnly,
      tiles: tiles.slice(0, maxTiles),
      totals: totalsOf(tiles),
      runs,
      incidents: incidents.slice(0, maxIncidents),
      next: chooseNext({ findings, agents, risks: null, left_behind: null }),
      findings,
    }
  }

  /** Reads the server, and what has happened there. */
  async #readServer(): Promise<ServerContents | undefined> {
    const contents = await freshSources.server()
    await this.#refresh('postgres')
    return contents
  }

  async #refresh(store: Places['store']): Promise<void> {
    await this.#places
      .find((place) => place.store === store)
      ?.refresh()
      .catch(() => {})
  }
}

/** Keeps what was read for a while. */
function keptFor<Value>(keptMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined
  let dueMs = 0
  return () => {
    if (value === undefined || systemClock.mono() >= dueMs) {
      value = read()
      dueMs = systemClock.mono() + keptMs
    }
    return value
  }
}

/**
 * Returns the outcome of the last read, and begins another one: a server that does not answer must not hold
 * up the rest. Only the first call waits.
 */
function lastOutcomeOf<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<Value> | undefined
  let underWay: Promise<Value> | undefined
  return async () => {
    if (underWay === undefined) {
      const reading = (underWay = read())
      const settle = (): void => {
        last = reading
        underWay = undefined
      }
      reading.then(settle, settle)
    }
    return await (last ?? underWay)
  }
}
