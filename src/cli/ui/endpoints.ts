import { StintError } from '../../base/errors/stint-error.ts'
import { homeRegister, type Register } from '../../lease/index.ts'
import type { DriverStore } from '../../session/index.ts'
import type { ActionBodies, Answers, Streams } from '../../ui/protocol.ts'
import type { Call, EndpointAnswer, Routes } from '../../ui/server/routes.ts'
import { sweepScope } from '../sweep/sweep.ts'
import { actions, Body } from './actions.ts'
import { readActPage } from './acts.ts'
import { viewDisk } from './disk.ts'
import { ForkIndex } from './forks.ts'
import { NowFeed } from './now-feed.ts'
import type { UiParts } from './parts.ts'
import { RequestQuery } from './request-query.ts'
import { followSession, listSessionPage, readEventPage, verifySession, viewSession } from './session-views.ts'
import { exportAudit, streamAudit, streamSearch } from './streams.ts'
import { listWorkspaces, viewWorkspace } from './workspaces.ts'

/** A call whose parameters are checked when they are read. */
interface UiCall {
  id: string
  query: RequestQuery
  signal: AbortSignal
}

type ReadingEndpoint = Exclude<keyof Answers, 'POST /api/token' | `POST /api/actions/${string}`>
type Reading = { [Route in ReadingEndpoint]: (call: UiCall) => Promise<Answers[Route]> }
/** A stream rejects a bad request before its first line, so that the answer can have an error status. */
type Following = { [Route in keyof Streams]: (call: UiCall) => Promise<AsyncIterable<Streams[Route]>> }

/**
 * The endpoints of `stint ui`: each reads or does what a command reads or does. `feed` has what a new page
 * shows first.
 */
export function uiEndpoints({
  register,
  store,
  readOnly,
}: {
  register: Register
  store: DriverStore
  readOnly: boolean
}): { routes: Routes; feed: NowFeed } {
  const home = homeRegister()
  const feed = new NowFeed(store, readOnly, register === home ? undefined : register)
  const registers = register === home ? [home] : [home, register]
  const parts: UiParts = { registers: registers as readonly Register[], store, feed, readOnly }
  const forks = new ForkIndex(store)
  const reading: Reading = {
    'GET /api/now': () => feed.look(),
    'GET /api/workspaces': () => listWorkspaces(parts),
    'GET /api/workspace': ({ query }) => viewWorkspace(parts, query),
    'GET /api/sessions': ({ query }) => listSessionPage(store, query),
    'GET /api/sessions/:id': ({ id }) => viewSession(store, id),
    'GET /api/sessions/:id/events': ({ id, query }) => readEventPage(store, id, query),
    'GET /api/sessions/:id/acts': ({ id, query }) => readActPage(store, id, query),
    'GET /api/sessions/:id/forks': async ({ id }) => ({ tree: await forks.treeOf(id) }),
    'GET /api/sessions/:id/verify': ({ id }) => verifySession(store, id),
    'GET /api/disk': ({ query }) => viewDisk(store, query),
    'GET /api/disk/plan': () => sweepScope({ dryRun: true, scope: 'all' }),
  }
  const following: Following = {
    'GET /api/now/stream': async ({ signal, query }) => feed.follow(signal, query.count('seen')),
    'GET /api/sessions/:id/follow': ({ id, query, signal }) => followSession(store, id, query, signal),
    'GET /api/audit': (call) => streamAudit(store, call.query, call.signal),
    'GET /api/search': ({ query, signal }) => streamSearch(store, query, signal),
  }
  const acting = Object.keys(actions) as (keyof ActionBodies)[]
  const callOf = ({ params, query, signal }: Call): UiCall => ({
    id: params.id ?? '',
    query: new RequestQuery(query),
    signal,
  })
  const routes: Record<string, (call: Call) => Promise<EndpointAnswer>> = {
    ...mapped(reading, (read, isWhole) => async (call) => ({ json: await read(callOf(call)), isWhole })),
    ...mapped(following, (follow, isWhole) => async (call) => ({
      lines: await follow(callOf(call)),
      isWhole,
    })),
    ...Object.fromEntries(
      acting.map((name) => [
        `POST /api/actions/${name}`,
        async (call: Call) => ({ json: await act(name, parts, call) }),
      ]),
    ),
  }
  const audit = routes['GET /api/audit'] as Routes[string]
  routes['GET /api/audit'] = async (call) =>
    call.query.get('format') === 'csv'
      ? {
          file: await exportAudit(store, callOf(call).query, call.signal),
          name: 'audit.csv',
          type: 'text/csv; charset=utf-8',
        }
      : await audit(call)
  return { routes, feed }
}

async function act(name: keyof ActionBodies, parts: UiParts, { body, signal }: Call): Promise<unknown> {
  if (parts.readOnly)
    throw new StintError('READ_ONLY', 'this page was started with --read-only', {
      hint: 'Start `stint ui` without --read-only, or use the command.',
    })
  return await actions[name](parts, new Body(body), { signal })
}

/** Events say themselves what was cut. */
const cutThemselves: ReadonlySet<string> = new Set<keyof Answers | keyof Streams>([
  'GET /api/sessions/:id/events',
  'GET /api/sessions/:id/follow',
])

const mapped = <Of extends (call: UiCall) => unknown>(
  routes: Readonly<Record<string, Of>>,
  wrap: (of: Of, isWhole: boolean) => (call: Call) => Promise<EndpointAnswer>,
): Record<string, (call: Call) => Promise<EndpointAnswer>> =>
  Object.fromEntries(Object.entries(routes).map(([route, of]) => [route, wrap(of, cutThemselves.has(route))]))
