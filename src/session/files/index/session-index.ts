import { ulid } from '../../../base/text/id.ts'
import { liveness } from '../../../base/process/liveness.ts'
import { thisMachine } from '../../../base/process/platform.ts'
import { sleep } from '../../../base/process/clock.ts'
import type { SessionSummary } from '../../store.ts'
import { type Look, sessionStateOf } from '../summary.ts'
import { type IndexFile, IndexFiles } from './index-files.ts'
import { encodeIndexLine, IndexFold, type TouchedRow } from './index-lines.ts'
import type { Touch } from './index-touch.ts'

/** So many rows for each session, and some more, make it worth to write the index anew. */
export interface Waste {
  times: number
  plus: number
}

/**
 * What a list shows of all sessions that are at rest, so that it need not open each: a cache. A session is touched before it is taken, and from then on it is
 * looked at itself, until somebody who has found it at rest says so. What is broken, forged, or of another boot is thrown away.
 */
export class SessionIndex {
  readonly #files: IndexFiles
  readonly #waste: Waste

  constructor(directory: string, waste: Waste = { times: 3, plus: 1000 }) {
    this.#files = new IndexFiles(directory)
    this.#waste = waste
  }

  /** After it has come to rest: what a look at it shows counts unless somebody else has touched it since. */
  noteAtRest({ row: [, token] }: Touch, { summary }: Look): void {
    if (!isAtRest(summary)) return
    try {
      if (this.#files.prepare()) this.#files.append(encodeIndexLine({ rest: [summary], tokens: [token] }))
    } catch {
      // The next list looks at the session itself.
    }
  }

  /** What it says now. Whoever looks at a session after this may add what was seen. */
  read(): IndexReading {
    try {
      if (this.#files.prepare()) return this.#read()
    } catch {
      // A list without an index is slow, and right.
      this.#discard()
    }
    return new IndexReading(new IndexFold(), () => {})
  }

  #discard(): void {
    try {
      this.#files.removeAll()
    } catch {
      // Not ours, or read-only: then nobody can believe it, or nobody can change anything.
    }
  }

  #read(patience = 20): IndexReading {
    const file = this.#files.readCurrent()
    // Somebody is writing in this moment. If not, a line has lost its end, and may be a touch.
    if (file.bytes.length > 0 && file.bytes.at(-1) !== 0x0a && patience > 0) {
      sleep(1)
      return this.#read(patience - 1)
    }
    const fold = new IndexFold()
    const earlier = fold.takeAll(file.bytes) ? this.#finish(file, fold) : 'broken'
    if (earlier === 'gone') return this.#read()
    if (earlier === 'broken') {
      this.#files.replace(file.name, '')
      return this.#read()
    }
    if (file.names.some((name) => name !== file.name)) this.#files.removeBefore(file.name)
    return new IndexReading(fold, (fresh, listed) => this.#keep(file, fold, fresh, listed))
  }

  /**
   * Who did not know yet that a file has taken the place of another has written to the other one: these sessions are touched again. `gone`: somebody else has done
   * so since we read the file.
   */
  #finish({ names }: { names: string[] }, fold: IndexFold): 'done' | 'gone' | 'broken' {
    const { name, at } = fold.replaces ?? { name: '', at: 0 }
    if (!names.includes(name)) return 'done'
    const before = this.#files.readOther(name)
    if (before === undefined) return 'gone'
    const late = new IndexFold()
    if (!late.takeAll(before.bytes.subarray(at))) return 'broken'
    // With a token of its own: what was found since, by whoever did not know of it, does not count.
    const touched = late.touched().map(([id, , epoch]): TouchedRow => [id, ulid(), epoch])
    if (touched.length === 0) return 'done'
    this.#files.append(encodeIndexLine({ touched }))
    fold.take({ touched })
    return 'done'
  }

  #keep(file: IndexFile, fold: IndexFold, fresh: readonly Look[], listed: readonly SessionSummary[]): void {
    // Whoever touched it may not have taken it yet.
    const rest = fresh
      .filter(({ summary, epoch }) => isAtRest(summary) && epoch >= fold.touchedOf(summary.id).epoch)
      .map(({ summary }) => summary)
    if (rest.length > 0) {
      const line = { rest, tokens: rest.map(({ id }) => fold.touchedOf(id).token) }
      this.#files.appendTo(file, encodeIndexLine(line))
      fold.take(line)
    }
    if (fold.taken <= listed.length * this.#waste.times + this.#waste.plus) return
    const ids = new Set(listed.map(({ id }) => id))
    const base = [...fold.rows.values()].filter(({ id }) => ids.has(id)).sort(newestFirst)
    const touched = fold.touched().filter(([id]) => ids.has(id) && !fold.rows.has(id))
    const line = encodeIndexLine({ base, touched, from: file.name, at: file.bytes.length })
    if (this.#files.replace(file.name, line)) this.#read()
  }
}

/** The index at one moment. */
export class IndexReading {
  readonly #fold: IndexFold
  /** Keeps what was found by looking since; `listed` are all that there are. */
  readonly keep: (fresh: readonly Look[], listed: readonly SessionSummary[]) => void

  constructor(fold: IndexFold, keep: IndexReading['keep']) {
    this.#fold = fold
    this.keep = (fresh, listed) => {
      try {
        keep(fresh, listed)
      } catch {
        // The next list tries again.
      }
    }
  }

  /** Those at rest; all others must be looked at. */
  *summaries(): Generator<SessionSummary> {
    for (const row of this.#fold.rows.values()) yield row.holder === undefined ? row : seenFromHere(row)
  }
}

/** The order of a list: the newest activity first. */
export const newestFirst = (a: SessionSummary, b: SessionSummary): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1)

/** Nothing changes any more unless somebody takes it, and who takes it touches it first. A holder may have died since it was seen alive. */
const isAtRest = ({ state, holder }: SessionSummary): boolean =>
  state !== 'active' && state !== 'locked' && (holder === undefined || liveness(holder.process) === 'dead')

/** Who is dead stays dead; but from another process table that cannot be seen. */
function seenFromHere(summary: SessionSummary): SessionSummary {
  const { holder, state } = summary
  if (holder === undefined) return summary
  const { host, boot, pidns, timens } = thisMachine()
  const { process } = holder
  if (
    process.host === host &&
    (process.boot !== boot || (process.pidns === pidns && process.timens === timens))
  )
    return summary
  return {
    ...summary,
    state: sessionStateOf({ holder, epoch: holder.epoch, ends: undefined }, state === 'damaged'),
  }
}
