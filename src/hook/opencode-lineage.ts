/** Where a session's parent can be asked for. */
export interface SessionSource {
  session: { get(request: { path: { id: string } }): Promise<{ data?: { parentID?: string } }> }
}

/**
 * In OpenCode a subagent has a session of its own, with a parent: it must not be kept out by the very session it works for. This knows whose
 * each one is.
 */
export class Lineage {
  readonly #parents = new Map<string, string | undefined>()
  readonly #source: SessionSource | undefined

  constructor(source: SessionSource | undefined) {
    this.#source = source
  }

  /** The session an event is about; remembers its parent if the event names it. */
  learn(type: string, properties: unknown): string | undefined {
    const { sessionID, info } = (properties ?? {}) as { sessionID?: unknown; info?: Record<string, unknown> }
    // Of a message, `info` names the message.
    const about = type.startsWith('session.') && typeof info?.id === 'string' ? info : undefined
    const id = about?.id ?? sessionID
    if (typeof id !== 'string') return undefined
    if (about !== undefined)
      this.#parents.set(id, typeof about.parentID === 'string' ? about.parentID : undefined)
    return id
  }

  /** The session at the top. */
  async rootOf(id: string): Promise<string> {
    let at = id
    for (let depth = 0; depth < 32; depth++) {
      const parent = await this.#parentOf(at)
      if (parent === undefined) break
      at = parent
    }
    return at
  }

  async #parentOf(id: string): Promise<string | undefined> {
    if (this.#parents.has(id)) return this.#parents.get(id)
    let parent: string | undefined
    try {
      parent = (await this.#source?.session.get({ path: { id } }))?.data?.parentID
    } catch {
      // Nobody to ask: it counts as its own.
      return undefined
    }
    this.#parents.set(id, parent)
    return parent
  }
}
