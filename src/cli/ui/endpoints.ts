import { StintError } from '../../base/errors/stint-error.ts'
import { homeRegister, type Register } from '../../lease/index.ts'
import type { DriverStore } from '../../session/index.ts'
import type { ActionBodies, Answers } from '../../ui/protocol.ts'
import { actions, Body } from './actions.ts'
import { NowFeed } from './now-feed.ts'
import { RequestQuery } from './request-query.ts'
import type { Call, EndpointAnswer, Routes } from './routes.ts'
import { listSessionPage, readEventPage, searchEvents, verifySession, viewSession } from './session-views.ts'
import { listWorkspaces, type UiParts, viewWorkspace } from './workspaces.ts'

/** A call whose parameters are checked when they are read. */
interface UiCall {
  id: string
  query: RequestQuery
  signal: AbortSignal
}

type ReadingEndpoint = Exclude<keyof Answers, 'POST /api/token' | `POST /api/actions/${string}`>
type Reading = { [Route in ReadingEndpoint]: (call: UiCall) => Promise<Answers[Route]> }

/** The endpoints of `stint ui`: each reads or does what a command reads or does. */
export function uiEndpoints({
  register,
  store,
  readOnly,
}: {
  register: Register
  store: DriverStore
  readOnly: boolean
}): Routes {
  const home = homeRegister()
  const feed = new NowFeed(store, readOnly, register === home ? undefined : register)
  const registers: Register[] = register === home ? [home] : [home, register]
  const parts: UiParts = { registers, store, feed, readOnly }
  const reading: Reading = {
    'GET /api/now': () => feed.look(),
    'GET /api/workspaces': () => listWorkspaces(parts),
    'GET /api/workspace': ({ query }) => viewWorkspace(parts, query),
    'GET /api/sessions': ({ query }) => listSessionPage(store, query),
    'GET /api/sessions/:id': ({ id }) => viewSession(store, id),
    'GET /api/sessions/:id/events': ({ id, query }) => readEventPage(store, id, query),
    'GET /api/sessions/:id/verify': ({ id }) => verifySession(store, id),
    'GET /api/search': ({ query, signal }) => searchEvents(store, query, signal),
  }
  const routes: Record<string, (call: Call) => Promise<EndpointAnswer>> = {
    'GET /api/now/stream': async ({ signal }) => ({ lines: feed.follow(signal) }),
  }
  for (const [route, read] of Object.entries(reading))
    routes[route] = async ({ params, query, signal }) => ({
      json: await read({ id: params.id ?? '', query: new RequestQuery(query), signal }),
      // Events say themselves what was cut.
      isWhole: route === 'GET /api/sessions/:id/events',
    })
  for (const name of Object.keys(actions) as (keyof ActionBodies)[])
    routes[`POST /api/actions/${name}`] = async (call) => ({ json: await act(name, parts, call) })
  return routes
}

async function act(name: keyof ActionBodies, parts: UiParts, { body, signal }: Call): Promise<unknown> {
  if (parts.readOnly)
    throw new StintError('READ_ONLY', 'this page was started with --read-only', {
      hint: 'Start `stint ui` without --read-only, or use the command.',
    })
  return await actions[name](parts, new Body(body), { signal })
}
