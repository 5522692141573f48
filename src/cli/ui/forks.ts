import type { DriverStore, Manifest, SessionSummary } from '../../session/index.ts'
import type { ForkNode } from '../../ui/protocol.ts'
import { openSession } from './session-views.ts'

/** Where a session was copied from. */
interface Origin {
  id: string
  seq: number
}

/** Knows which session was forked from which. The origin of a session never changes, so it is read once. */
export class ForkIndex {
  readonly #store: DriverStore
  /** By id and time of creation: an id may be used again. */
  readonly #origins = new Map<string, Origin | undefined>()

  constructor(store: DriverStore) {
    this.#store = store
  }

  /** The tree that a session belongs to, from the oldest ancestor that is known. */
  async treeOf(id: string): Promise<ForkNode> {
    await openSession(this.#store, id)
    const sessions = await this.#store.list()
    const origins = new Map<string, Origin>()
    for (const session of sessions) {
      const origin = await this.#originOf(session)
      if (origin !== undefined) origins.set(session.id, origin)
    }
    return treeOf(id, origins, new Map(sessions.map((session) => [session.id, session])))
  }

  async #originOf({ id, createdAt }: SessionSummary): Promise<Origin | undefined> {
    const name = `${id}@${createdAt}`
    if (!this.#origins.has(name)) {
      // A session that cannot be read has no place in the tree.
      const read = await this.#store.driver.read(id).catch(() => undefined)
      this.#origins.set(name, read && originIn(read.manifest))
    }
    return this.#origins.get(name)
  }
}

function originIn({ revisions, session_id }: Manifest): Origin | undefined {
  const fork = revisions.findLast(({ kind, from }) => kind === 'fork' && from?.session_id !== session_id)
  return fork?.from && { id: fork.from.session_id, seq: fork.from.seq }
}

/** Builds the tree around a session. An ancestor that was removed is still its root. */
export function treeOf(
  id: string,
  origins: ReadonlyMap<string, Origin>,
  sessions: ReadonlyMap<string, Pick<SessionSummary, 'title' | 'state'>>,
): ForkNode {
  let root = id
  // A ring, which only a forged manifest can have, has no root.
  const seen = new Set<string>()
  for (let above = origins.get(root); above !== undefined && !seen.has(above.id); above = origins.get(root)) {
    seen.add(root)
    root = above.id
  }
  const copies = new Map<string, string[]>()
  for (const [copy, { id: from }] of origins) copies.set(from, [...(copies.get(from) ?? []), copy])
  const placed = new Set<string>()
  const nodeOf = (of: string): ForkNode => {
    placed.add(of)
    const { title, state } = sessions.get(of) ?? {}
    const forks = (copies.get(of) ?? []).filter((copy) => !placed.has(copy))
    return {
      session_id: of,
      title: title ?? null,
      state: state ?? null,
      at_seq: of === root ? null : (origins.get(of)?.seq ?? null),
      forks: forks.sort().map(nodeOf),
    }
  }
  return nodeOf(root)
}
