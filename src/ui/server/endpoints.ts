import { StintError } from '../../base/errors/stint-error.ts'
import { homeStore, type LeaseStore } from '../../lease/index.ts'
import type { BuiltInStore } from '../../session/index.ts'
import type { Answers, SessionView } from '../protocol.ts'
import { breakClaim } from '../../lease/commands/end-claim.ts'
import { removeSessions } from '../../session/commands/rm.ts'
import { unlockSession } from '../../session/commands/unlock.ts'
import { listChanges, previewChangeUndo, undoChange, viewChange } from './change-views.ts'
import { NowFeed } from './now-feed.ts'
import type { RequestFields } from './request-fields.ts'
import { openSession, readEventPage, viewSession } from './session-views.ts'
import { listSessionPage, searchAll, viewTranscript } from './transcript-views.ts'
import { listWorkspaces, openKey, type UiParts, viewWorkspace } from './workspaces.ts'

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

/** An answer: one JSON object, or a stream of them. Long strings are cut unless `isWhole`. */
export type EndpointAnswer = { json: unknown; isWhole?: boolean } | { lines: AsyncIterable<unknown> }

/** Endpoints by `METHOD /path`, in which `:id` stands for the id of a session. */
export type Endpoints = Readonly<Record<string, (call: Call) => Promise<EndpointAnswer>>>

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
  const feed = new NowFeed(readOnly, leases)
  const parts: UiParts = { leases: [homeStore(), ...(leases === undefined ? [] : [leases])], store, feed }
  const answering: JsonEndpoints = {
    'GET /api/now': () => feed.look(),
    'GET /api/workspaces': () => listWorkspaces(parts),
    'GET /api/workspace': ({ query }) => viewWorkspace(parts, query),
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
      const claims = await openKey(parts, body.need('key'))
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
    'POST /api/actions/close': async ({ body }) => {
      const { summary } = await openSession(store, body.need('session_id'))
      const isCrashed = summary.state === 'crashed'
      const closed = isCrashed && (await unlockSession(store, summary)).unlocked
      const unsettled = closed ? await unsettledActs(store, summary.id) : []
      return { session_id: summary.id, closed, unsettled }
    },
    'POST /api/actions/trash': async ({ body, signal }) => {
      const { summary } = await openSession(store, body.need('session_id'))
      return { session_id: summary.id, trash: await removeSessions(store, [summary.id], signal) }
    },
  }
  const asJson = ([route, answer]: [string, (call: Call) => Promise<unknown>]) =>
    [
      route,
      async (call: Call) => {
        if (readOnly && route.startsWith('POST')) throw readOnlyError()
        // These say themselves what was cut.
        const isWhole = ['GET /api/sessions/:id/events', 'GET /api/transcript'].includes(route)
        return { json: await answer(call), isWhole }
      },
    ] as const
  return {
    ...Object.fromEntries(Object.entries(answering).map(asJson)),
    'GET /api/now/stream': async ({ signal }) => ({ lines: feed.follow(signal) }),
  }
}

/** The acts without an outcome. The session is closed already, whatever state its audit log is in. */
const unsettledActs = async (store: BuiltInStore, id: string): Promise<SessionView['unsettled']> =>
  await (await store.inspect(id)).unsettled().catch(() => [])

const readOnlyError = (): StintError =>
  new StintError('READ_ONLY', 'this page was started with --read-only', {
    hint: 'Start `stint ui` without --read-only, or use the command.',
  })

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
