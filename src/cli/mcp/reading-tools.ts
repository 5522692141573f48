import { z } from 'zod'
import { visibleText } from '../../base/text/escape.ts'
import { allClaims, findWorkspace, promptedSessions } from '../../lease/index.ts'
import type { FoundEvent } from '../../session/index.ts'
import { describeClaim, describeWaiter, renderClaim, renderWaiters } from '../lock/describe.ts'
import { activityLine } from '../lock/history.ts'
import { describeTarget } from '../lock/lock-options.ts'
import { describeFound, renderFound } from '../sessions/search.ts'
import { defineTool, openTarget, targetInput, targetOutput } from './tool.ts'

const claimOutput = z.looseObject({
  session_id: z.string(),
  standing: z.string(),
  paths: z.array(z.string()),
  mode: z.enum(['exclusive', 'shared']),
  purpose: z.string().nullable(),
})

const who = defineTool({
  name: 'who',
  title: 'Who works where',
  description:
    'Shows which sessions hold the workspace, or paths in it, what they do and which sessions wait. ' +
    'Also lists the agents that run on this machine. Look here before you plan a large change.',
  input: z.object({ ...targetInput, all: z.boolean().optional().describe('All workspaces, not only one.') }),
  output: z.object({
    workspaces: z.array(
      z.object({
        ...targetOutput,
        claims: z.array(claimOutput),
        waiters: z.array(z.looseObject({ session_id: z.string() })),
      }),
    ),
    sessions: z.array(z.object({ session_id: z.string(), pid: z.number(), prompt: z.string() })),
  }),
  isReading: true,
  async call({ all = false, ...target }, context) {
    const claims = openTarget(context, target)
    const { targets } = await allClaims(context.register)
    const shown = targets.filter(({ key }) => all || key === claims.key)
    const workspaces = shown.map(({ key, workspace, claims, waiters, observation }) => ({
      ...describeTarget({ key, name: workspace }),
      claims: claims.map((claim) => describeClaim(claim, observation)),
      waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
    }))
    const sessions = promptedSessions(process.env).map(({ sessionId, agent, words }) => ({
      session_id: sessionId,
      pid: agent.pid,
      prompt: words,
    }))
    const lines = [
      ...workspaces.flatMap(({ workspace, resource, claims, waiters }) => [
        visibleText(workspace ?? resource ?? ''),
        ...claims.flatMap((claim) =>
          renderClaim(claim, { columns: Number.POSITIVE_INFINITY, verbose: false }),
        ),
        ...renderWaiters(waiters, Number.POSITIVE_INFINITY),
      ]),
      ...(workspaces.length === 0 ? [`${visibleText(claims.name)} is free`] : []),
      ...sessions.map(({ session_id, pid, prompt }) =>
        visibleText(`session ${session_id} (pid ${pid}) works on ${JSON.stringify(prompt)}`),
      ),
    ]
    return { data: { workspaces, sessions }, text: lines.join('\n') }
  },
})

const history = defineTool({
  name: 'history',
  title: 'What happened here',
  description:
    'Shows which sessions held the workspace, when and for what, and which were refused; the newest last.',
  input: z.object({
    ...targetInput,
    since_minutes: z.number().min(0).optional().describe('Only what happened in this time.'),
    limit: z.number().int().min(1).max(500).optional().describe('How many of the newest. Default: 20.'),
  }),
  output: z.object({
    ...targetOutput,
    activities: z.array(z.looseObject({ kind: z.string(), session_id: z.string(), at: z.number() })),
    total: z.number(),
  }),
  isReading: true,
  async call({ since_minutes, limit = 20, ...target }, context) {
    const claims = openTarget(context, target)
    const from = since_minutes === undefined ? 0 : (await claims.now()).wall - since_minutes * 60_000
    const found = (await claims.activity.read()).filter(({ at }) => at >= from)
    const activities = found.slice(-limit).map((each) => ({ ...each }))
    const text = activities.map(activityLine).join('\n') || `${visibleText(claims.name)} has no history`
    return { data: { ...describeTarget(claims), activities, total: found.length }, text }
  },
})

const maxFound = 100

const searchSessions = defineTool({
  name: 'search_sessions',
  title: 'Search sessions',
  description:
    'Finds a text in the events that sessions have recorded: the newest session first, and its newest event ' +
    'first. Use it to find out how a problem was met before.',
  input: z.object({
    text: z.string().min(1).describe('The text, as it was written; not a pattern.'),
    workspace: z.string().optional().describe('Only sessions of this workspace: any directory in it.'),
    type: z.string().optional().describe('Only events of this type.'),
    since_minutes: z.number().min(0).optional().describe('Only what was recorded in this time.'),
    limit: z.number().int().min(1).max(maxFound).optional().describe('Default: 20.'),
  }),
  output: z.object({
    found: z.array(
      z.looseObject({ session_id: z.string(), at: z.number(), type: z.string(), excerpt: z.string() }),
    ),
  }),
  isReading: true,
  async call({ text, workspace, type, since_minutes, limit = 20 }, { store, signal }) {
    const events: FoundEvent[] = []
    const search = store.search(text, {
      type,
      since: since_minutes === undefined ? undefined : since_minutes * 60_000,
      workspace: workspace === undefined ? undefined : findWorkspace(workspace).path,
      // A damaged session does not hide the others.
      onUnreadable: () => {},
    })
    for await (const event of search) {
      signal.throwIfAborted()
      events.push(event)
      if (events.length >= limit) break
    }
    const lines = events.map((event) => renderFound(event, { utc: true })).join('\n') || 'nothing found'
    return { data: { found: events.map(describeFound) }, text: lines }
  },
})

export const readingTools = [who, history, searchSessions]
