import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { isString } from '../../base/text/fields.ts'
import { homeStore, type LeaseStore } from '../../lease/index.ts'
import type { BuiltInStore } from '../../session/index.ts'
import type { Answers, SessionView } from '../protocol.ts'
import { breakClaim } from '../../lease/commands/end-claim.ts'
import { removeSessions } from '../../session/commands/remove.ts'
import { unlockSession } from '../../session/commands/unlock.ts'
import { listChanges, previewChangeUndo, undoChange, viewChange } from './change-views.ts'
import { NowFeed } from './now-feed.ts'
import { openSession, readEventPage, viewSession } from './session-views.ts'
import { listSessionPage, searchAll, viewTranscript } from './transcript-views.ts'
import { listWorkspaces, openKey, Places, viewWorkspace } from './workspaces.ts'

/** What an endpoint is called with. */
export interface Call {
  /** The id of a session in the path; it is not checked yet. */
  id: string
  query: RequestFields
  /** The JSON of a POST. */
  body: RequestFields
  /** Aborts when the client has gone, or the server ends. */
  signal: AbortSignal
}

/** Endpoints by `METHOD /path`, in which `:id` stands for the id of a session; each answers an object. */
export type Endpoints = Readonly<Record<string, (call: Call) => Promise<unknown>>>

type JsonEndpoints = {
  [Route in Exclude<keyof Answers, 'POST /api/token'>]: (call: Call) => Promise<Answers[Route]>
}

/** The endpoints of `stint ui`: each reads or does what a command reads or does. */
export function uiEndpoints({
  leases,
  store,
  readOnly,
}: {
  /** The leases on a server; undefined if those in the home are all. */
  leases: LeaseStore | undefined
  store: BuiltInStore
  readOnly: boolean
}): Endpoints {
  const places = [
    new Places(homeStore(), 'files'),
    ...(leases === undefined ? [] : [new Places(leases, 'postgres')]),
  ]
  const feed = new NowFeed(readOnly, places)
  const endpoints: JsonEndpoints = {
    'GET /api/now': () => feed.look(),
    'GET /api/workspaces': () => listWorkspaces(places),
    'GET /api/workspace': ({ query }) => viewWorkspace(places, query),
    'GET /api/sessions': ({ query }) => listSessionPage(store, query),
    'GET /api/sessions/:id': ({ id }) => viewSession(store, id),
    'GET /api/sessions/:id/events': ({ id, query }) => readEventPage(store, id, query),
    'GET /api/transcript': ({ query }) => viewTranscript(query),
    'GET /api/search': ({ query, signal }) => searchAll(store, query, signal),
    'GET /api/changes': ({ query }) => listChanges(query),
    'GET /api/change': ({ query }) => viewChange(query),
    'GET /api/change/undo': ({ query }) => previewChangeUndo(query),
    'POST /api/actions/undo': ({ body }) => undoChange(body),
    'POST /api/actions/break': async ({ body }) => {
      const claims = await openKey(places, body.need('key'))
      const claim = { session_id: body.need('session_id'), fence: body.needCount('fence') }
      return await breakClaim(claims, claim, body.text('reason'))
    },
    'POST /api/actions/unlock': async ({ body }) => {
      const { summary } = await openSession(store, body.need('session_id'))
      const seen = { epoch: body.needCount('epoch'), since: body.needCount('since') }
      const { unlocked } = await unlockSession(store, summary, seen)
      const unsettled = unlocked ? await unsettledActs(store, summary.id) : []
      return { session_id: summary.id, unlocked, unsettled }
    },
    'POST /api/actions/trash': async ({ body, signal }) => {
      const { summary } = await openSession(store, body.need('session_id'))
      return { session_id: summary.id, trash: await removeSessions(store, [summary.id], signal) }
    },
  }
  if (!readOnly) return endpoints as Endpoints
  const isAction = (route: string): boolean => route.startsWith('POST')
  return Object.fromEntries(
    Object.entries(endpoints as Endpoints).map(([route, answer]) => [
      route,
      isAction(route) ? refuse : answer,
    ]),
  )
}

/** The acts without an outcome. The session is closed already, whatever state its audit log is in. */
const unsettledActs = async (store: BuiltInStore, id: string): Promise<SessionView['unsettled']> =>
  await (await store.inspect(id)).unsettled().catch(() => [])

const refuse = (): Promise<never> =>
  Promise.reject(
    new StintError('READ_ONLY', 'this page was started with --read-only', {
      hint: 'Start `stint ui` without --read-only, or use the command.',
    }),
  )

const sessions = '/api/sessions/'

/** The path of an endpoint with `:id` in place of the id of a session, and that id. */
export function routeOf(path: string): { route: string; id: string } {
  const [id = ''] = path.startsWith(sessions) ? path.slice(sessions.length).split('/') : []
  if (id === '') return { route: path, id }
  try {
    return { route: `${sessions}:id${path.slice(sessions.length + id.length)}`, id: decodeURIComponent(id) }
  } catch (error) {
    throw new StintError('ARG_ERROR', 'the path is not valid UTF-8', { cause: error })
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
