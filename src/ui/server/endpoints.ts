import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { isString } from '../../base/text/fields.ts'
import { breakClaim } from '../../lease/commands/end-claim.ts'
import { homeStore, type LeaseStore } from '../../lease/index.ts'
import { removeSessions } from '../../session/commands/remove.ts'
import { unlockSession } from '../../session/commands/unlock.ts'
import type { BuiltInStore } from '../../session/index.ts'
import { listChanges, previewChangeUndo, undoChange, viewChange } from './change-views.ts'
import { createNowFeed } from './now-feed.ts'
import type { Answers } from './protocol.ts'
import { openSession, readEventPage, viewSession } from './session-views.ts'
import { listSessionPage, searchAll, viewTranscript } from './transcript-views.ts'
import { listWorkspaces, openKey, type StoredLeases, viewWorkspace } from './workspaces.ts'

/**
 * Answers a request: `fields` are its query, or the JSON of its body. The signal aborts when the client has
 * gone, or the server ends.
 */
type Endpoint<Answer> = (fields: RequestFields, signal: AbortSignal) => Promise<Answer>

export type Endpoints = {
  [Route in Exclude<keyof Answers, 'POST /api/token'>]: Endpoint<Answers[Route]>
}

/** The endpoints of `stint ui`: each reads or does what a command reads or does. */
export function uiEndpoints({
  leases,
  store,
}: {
  /** The leases on a server; undefined if those in the home are all. */
  leases: LeaseStore | undefined
  store: BuiltInStore
}): Endpoints {
  const stores: StoredLeases[] = [
    { leases: homeStore(), store: 'files' },
    ...(leases === undefined ? [] : [{ leases, store: 'postgres' as const }]),
  ]
  return {
    'GET /api/now': createNowFeed(stores),
    'GET /api/workspaces': () => listWorkspaces(stores),
    'GET /api/workspace': (query) => viewWorkspace(stores, query),
    'GET /api/sessions': (query) => listSessionPage(store, query),
    'GET /api/session': (query) => viewSession(store, query),
    'GET /api/events': (query) => readEventPage(store, query),
    'GET /api/transcript': viewTranscript,
    'GET /api/search': (query, signal) => searchAll(store, query, signal),
    'GET /api/changes': listChanges,
    'GET /api/change': viewChange,
    'GET /api/change/undo': previewChangeUndo,
    'POST /api/actions/undo': undoChange,
    'POST /api/actions/break': async (body) => {
      const { claims } = await openKey(stores, body.need('key'))
      const claim = { session_id: body.need('session_id'), fence: body.needCount('fence') }
      const answer = await breakClaim(claims, claim, body.text('reason'))
      if (answer.broken) return answer
      throw new StintError('NOT_FOUND', `that claim of ${visibleText(claim.session_id, 140)} is gone already`)
    },
    'POST /api/actions/unlock': async (body) => {
      const { summary } = await openSession(store, body.need('session_id'))
      const seen = { epoch: body.needCount('epoch'), since: body.needCount('since') }
      const { unlocked } = await unlockSession(store, summary, seen)
      return { session_id: summary.id, unlocked }
    },
    'POST /api/actions/trash': async (body, signal) => {
      const { summary } = await openSession(store, body.need('session_id'))
      return { session_id: summary.id, trash: await removeSessions(store, [summary.id], signal) }
    },
  }
}

/** The query of a request, or the JSON of its body: each field is checked before it is used. */
export class RequestFields {
  readonly #fields: Readonly<Record<string, unknown>>

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.#fields = fields
  }

  /** A string; undefined if it is missing or empty. */
  text(name: string): string | undefined {
    const value = this.#fields[name] ?? ''
    if (!isString(value)) throw new StintError('ARG_ERROR', `${name} must be a string`)
    return value === '' ? undefined : value
  }

  need(name: string): string {
    const value = this.text(name)
    if (value !== undefined) return value
    throw new StintError('ARG_ERROR', `${name} is missing`, {
      hint: '`Answers` in ui-protocol.d.ts lists the parameters.',
    })
  }

  /** A whole number from 0 on, such as a record or a time in milliseconds since the epoch. */
  count(name: string): number | undefined {
    const value = String(this.#fields[name] ?? '')
    if (value === '') return undefined
    if (/^\d{1,15}$/.test(value)) return Number(value)
    throw new StintError('ARG_ERROR', `${name} must be a whole number, not ${visibleText(value, 40)}`)
  }

  needCount(name: string): number {
    const count = this.count(name)
    if (count !== undefined) return count
    throw new StintError('ARG_ERROR', `${name} must be a whole number`)
  }

  /** How many to send: at least 1 and at most `most`. */
  limit(usual: number, most: number): number {
    const limit = this.count('limit') ?? usual
    if (limit >= 1 && limit <= most) return limit
    throw new StintError('ARG_ERROR', `limit must be from 1 to ${most}`)
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name)
    const match = choices.find((choice) => choice === value)
    if (value === undefined || match !== undefined) return match
    throw new StintError('ARG_ERROR', `${name} must be one of ${choices.join(', ')}`)
  }
}
