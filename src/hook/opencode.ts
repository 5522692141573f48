/**
 * The hooks as a plugin for OpenCode, in its own process.
 *
 * @module stint/opencode
 */
import { homeRegister } from '../lease/index.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import type { HookChoices } from './choices.ts'
import { type HookEvent, useOf } from './event.ts'
import { handleEvent } from './handle-event.ts'
import { noteWarning } from './hook-log.ts'
import type { EventKind } from './hosts.ts'
import { Lineage, type SessionSource } from './opencode-lineage.ts'
import { recordCall } from './record/record.ts'
import { drainQueue } from './record/recorder.ts'
import { sessionName } from './session-name.ts'
import { onFault, pass, type Verdict } from './verdict.ts'

/** As much of what OpenCode gives a plugin as we use. */
export interface PluginInput {
  directory: string
  client?: SessionSource
}

/** As much of its hooks as we have. */
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
 * A plugin for OpenCode: the same decisions as `stint-hook`, in OpenCode's own process. To refuse a call is to throw.
 *
 * @example
 * export const stint = stintPlugin({ scope: 'paths' })
 */
export function stintPlugin(choices: HookChoices = {}): (input: PluginInput) => Promise<PluginHooks> {
  return async ({ directory, client }) => {
    const { scope = 'workspace', hold = 'turn', failClosed = false, record = false } = choices
    const lineage = new Lineage(client)
    const sessions = new Set<string>()

    // This process lives on: nobody waits for what it writes meanwhile.
    let draining: Promise<unknown> = Promise.resolve()
    const drain = (): void => {
      draining = draining.then(() => drainQueue()).catch((error: unknown) => note('record', undefined, error))
    }

    const handle = (kind: EventKind, sessionId: string, more: Partial<HookEvent> = {}): Verdict => {
      const event: HookEvent = { ...blank, name: kind, kind, sessionId, cwd: directory, ...more }
      let verdict = pass
      try {
        sessions.add(sessionId)
        const around = { register: homeRegister(), agent: ownIdentity(), env: process.env }
        verdict = handleEvent(event, { scope, hold }, around)
        if (record && recordCall({ ...around, event, verdict, json: {} })) drain()
        return verdict
      } catch (error) {
        note(kind, sessionId, error)
        // What could not be recorded is refused all the same.
        if (verdict.block) return verdict
        return onFault(failClosed, 'failClosed', errorMessage(error))
      }
    }

    return {
      async 'tool.execute.before'({ tool, sessionID, callID }, { args }) {
        const session = await lineage.rootOf(sessionID)
        const verdict = handle('pre', session, { tool: toolOf(tool, args), callId: callID })
        if (verdict.block) throw new Error(verdict.reason)
      },
      async 'tool.execute.after'({ tool, sessionID, callID, args }) {
        const session = await lineage.rootOf(sessionID)
        handle('post', session, { tool: toolOf(tool, args), callId: callID })
      },
      async 'shell.env'({ sessionID }, { env }) {
        // So that git knows whose it is: one process can have many sessions.
        if (sessionID !== undefined)
          env.STINT_SESSION_ID = sessionName(await lineage.rootOf(sessionID), 'opencode', null)
      },
      async 'chat.message'({ sessionID }) {
        if ((await lineage.rootOf(sessionID)) === sessionID) handle('prompt', sessionID)
      },
      async event({ event: { type, properties } }) {
        const session = lineage.learn(type, properties)
        // Most events are parts of an answer that comes in: for them nobody is asked whose the session is.
        const kind = kinds[type]
        if (session === undefined || kind === undefined || (await lineage.rootOf(session)) !== session) return
        handle(kind, session)
        if (kind === 'end') sessions.delete(session)
      },
      async dispose() {
        for (const session of sessions) handle('end', session)
        await draining
      },
    }
  }
}

const note = (event: string, session: string | undefined, error: unknown): void =>
  noteWarning({ agent: 'opencode', event, session, warning: errorMessage(error) })

/** A turn that fails ends, too. */
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
  subagent: false,
  cause: undefined,
  background: false,
}

const toolOf = (name: string, args: unknown) => ({
  name,
  use: useOf(name, 'opencode'),
  input: typeof args === 'object' && args !== null ? (args as Record<string, unknown>) : {},
})
