/**
 * The hooks as a plugin for OpenCode, in its own process.
 *
 * @module stint/opencode
 */
import { homeStore } from '../lease/index.ts'
import { ticksNow } from '../base/process/process-table.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { defaultChoices, type HookChoices } from './options.ts'
import { type HookEvent, useOf } from './event.ts'
import { sessionName } from './session-party.ts'
import { handleEvent } from './handle-event.ts'
import { noteWarning } from './hook-log.ts'
import type { EventKind } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'
import { recordCall } from './record-call.ts'
import { allowed, checkTask, onFault, recordTask, type Verdict } from './verdict.ts'

/** The part of OpenCode's client that tells a session's parent. */
export interface SessionSource {
  session: { get(request: { path: { id: string } }): Promise<{ data?: { parentID?: string } }> }
}

/** The part of OpenCode's plugin input that stint uses. */
export interface PluginInput {
  directory: string
  client?: SessionSource
}

/** The plugin hooks of OpenCode that stint implements. */
export interface PluginHooks {
  'tool.execute.before'(
    input: { tool: string; sessionID: string; callID: string },
    output: { args: unknown },
  ): Promise<void>
  'tool.execute.after'(input: {
    tool: string
    sessionID: string
    callID: string
    args?: unknown
  }): Promise<void>
  'shell.env'(
    input: { cwd: string; sessionID?: string },
    output: { env: Record<string, string> },
  ): Promise<void>
  'chat.message'(input: { sessionID: string }): Promise<void>
  event(input: { event: { type: string; properties?: unknown } }): Promise<void>
  dispose(): Promise<void>
}

/**
 * Makes a plugin for OpenCode that decides as `stint-hook` does, in OpenCode's own process. It refuses a call
 * by throwing.
 *
 * @example
 * export const stint = stintPlugin({ scope: 'paths' })
 */
export function stintPlugin(choices: HookChoices = {}): (input: PluginInput) => Promise<PluginHooks> {
  return async ({ directory, client }) => {
    const tree = new SessionTree(client)
    const chosen = Object.entries(choices).filter(([, choice]) => choice !== undefined)
    const hooks = new ProcessHooks(directory, { ...defaultChoices, ...Object.fromEntries(chosen) })
    return {
      async 'tool.execute.before'({ tool, sessionID, callID }, { args }) {
        const session = await tree.rootOf(sessionID)
        const verdict = await hooks.handle('pre', session, { tool: toolOf(tool, args), callId: callID })
        if (verdict.block) throw new Error(verdict.reason)
      },
      async 'tool.execute.after'({ tool, sessionID, callID, args }) {
        const session = await tree.rootOf(sessionID)
        await hooks.handle('post', session, { tool: toolOf(tool, args), callId: callID })
      },
      async 'shell.env'({ sessionID }, { env }) {
        // Tells the git guard the session: one OpenCode process can have several.
        if (sessionID !== undefined)
          env.STINT_SESSION_ID = sessionName(await tree.rootOf(sessionID), 'opencode', null)
      },
      async 'chat.message'({ sessionID }) {
        if ((await tree.rootOf(sessionID)) === sessionID) await hooks.handle('prompt', sessionID)
      },
      async event({ event: { type, properties } }) {
        const session = tree.learn(type, properties)
        // Most events are parts of a streamed answer: do not ask OpenCode for the session's parent for those.
        const kind = kinds[type]
        if (session === undefined || kind === undefined || (await tree.rootOf(session)) !== session) return
        await hooks.handle(kind, session)
      },
      dispose: () => hooks.end(),
    }
  }
}

/** Handles the events of all sessions of this process. */
class ProcessHooks {
  readonly #directory: string
  readonly #choices: Required<HookChoices>
  readonly #sessions = new Set<string>()

  constructor(directory: string, choices: Required<HookChoices>) {
    this.#directory = directory
    this.#choices = choices
  }

  async handle(kind: EventKind, sessionId: string, more: Partial<HookEvent> = {}): Promise<Verdict> {
    const event: HookEvent = { ...blank, name: kind, kind, sessionId, cwd: this.#directory, ...more }
    const { failClosed, record } = this.#choices
    let verdict = allowed
    let task: string = checkTask
    try {
      if (kind === 'end') this.#sessions.delete(sessionId)
      else this.#sessions.add(sessionId)
      const context = { store: homeStore(), agent: ownIdentity(), env: process.env, ticks: ticksNow() }
      verdict = await handleEvent(event, this.#choices, context)
      task = recordTask
      if (record) await recordCall({ ...context, event, verdict })
      return verdict
    } catch (error) {
      noteWarning({ agent: 'opencode', event: kind, session: sessionId, warning: errorMessage(error) })
      // A refusal stands even if it could not be recorded.
      return verdict.block ? verdict : onFault(failClosed, 'failClosed', task, errorMessage(error))
    }
  }

  async end(): Promise<void> {
    for (const session of this.#sessions) await this.handle('end', session)
  }
}

/** A failed turn has ended as well. */
const kinds: Readonly<Record<string, EventKind>> = {
  'session.idle': 'stop',
  'session.error': 'stop',
  'session.deleted': 'end',
}

const blank: HookEvent = {
  host: 'opencode',
  name: '',
  kind: undefined,
  sessionId: undefined,
  cwd: undefined,
  tool: undefined,
  callId: undefined,
  failure: undefined,
  interrupted: false,
  subagent: false,
  cause: undefined,
}

const toolOf = (name: string, args: unknown) => ({
  name,
  use: useOf(name, [hosts.opencode]),
  input: typeof args === 'object' && args !== null ? (args as Record<string, unknown>) : {},
})

/**
 * The parents of sessions. In OpenCode a subagent has a session of its own, below the one it works for: all
 * of a tree claim under the id of its root, so that the parent does not lock its subagents out.
 */
class SessionTree {
  readonly #parents = new Map<string, string | undefined>()
  readonly #source: SessionSource | undefined

  constructor(source: SessionSource | undefined) {
    this.#source = source
  }

  /** Returns the session of an event, and remembers its parent if the event names it. */
  learn(type: string, properties: unknown): string | undefined {
    const { sessionID, info } = (properties ?? {}) as { sessionID?: unknown; info?: Record<string, unknown> }
    // In an event about a message, `info` describes the message.
    const session = type.startsWith('session.') && typeof info?.id === 'string' ? info : undefined
    const id = session?.id ?? sessionID
    if (typeof id !== 'string') return undefined
    if (session !== undefined)
      this.#parents.set(id, typeof session.parentID === 'string' ? session.parentID : undefined)
    return id
  }

  /** The root of the session's tree. */
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
      // OpenCode does not answer: treat the session as a root.
      return undefined
    }
    this.#parents.set(id, parent)
    return parent
  }
}
