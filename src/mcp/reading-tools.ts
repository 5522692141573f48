import { z } from 'zod'
import { visibleText } from '../base/text/escape.ts'
import { allClaims, findWorkspace } from '../lease/index.ts'
import { promptedSessions } from '../hooks/session-prompt.ts'
import type { FoundEvent } from '../session/index.ts'
import { describeClaim, describeWaiter } from '../lease/commands/describe.ts'
import { activityLine } from '../lease/commands/history.ts'
import { renderTarget } from '../lease/commands/status.ts'
import { describeFound, renderFound } from '../session/commands/search.ts'
import { defineTool, nameInput, openTarget, targetInput, targetOf } from './tool.ts'

const limitOf = (most: number) =>
  z.number().int().min(1).max(most).optional().describe('How many of the newest. Default: 20.')

const anyWidth = { columns: Number.POSITIVE_INFINITY, verbose: false }

const who = defineTool({
  name: 'who',
  title: 'Who works where',
  description:
    'Shows which sessions hold the workspace, or paths in it, what they do and which sessions wait. ' +
    'Also lists the agents that run on this machine. Look here before you plan a large change.',
  input: { ...targetInput, all: z.boolean().optional().describe('All workspaces, not only one.') },
  isReading: true,
  async call({ all = false, ...target }, context) {
    const { key, title } = openTarget(context, target)
    const { targets } = await allClaims(context.leases)
    const shown = targets
      .filter((each) => all || each.key === key)
      .map(({ key, workspace, claims, waiters, observation }) => ({
        ...targetOf({ key, title: workspace }),
        claims: claims.map((claim) => describeClaim(claim, observation)),
        waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
      }))
    const sessions = promptedSessions(process.env).map(({ sessionId, agent, words }) => ({
      session_id: sessionId,
      pid: agent.pid,
      prompt: words,
    }))
    const lines = [
      ...shown.flatMap((each) => renderTarget(each, anyWidth)),
      ...(shown.length === 0 ? [`${visibleText(title)} is free`] : []),
      ...sessions.map(({ session_id, pid, prompt }) =>
        visibleText(`session ${session_id} (pid ${pid}) works on ${JSON.stringify(prompt)}`),
      ),
    ]
    const workspaces = shown.map((each) => ({ ...each, claims: each.claims.map(withoutFence) }))
    return { data: { workspaces, sessions }, text: lines.join('\n') }
  },
})

/** A fence says nothing to a model. */
const withoutFence = <Shown extends object>({ fence: _fence, ...shown }: Shown & { fence?: number | null }) =>
  shown

const history = defineTool({
  name: 'history',
  title: 'What happened here',
  description:
    'Shows which sessions held the workspace, when and for what, and which were refused; the newest last.',
  input: { ...targetInput, limit: limitOf(500) },
  isReading: true,
  async call({ limit = 20, ...target }, context) {
    const claims = openTarget(context, target)
    const all = await claims.activity.read()
    const newest = all.slice(-limit)
    const text = newest.map(activityLine).join('\n') || `${visibleText(claims.title)} has no history`
    const activities = newest.map(withoutFence)
    return { data: { ...targetOf(claims), activities, total: all.length }, text }
  },
})

const searchSessions = defineTool({
  name: 'search_sessions',
  title: 'Search sessions',
  description:
    'Finds a text in the events that sessions have recorded: the newest session first, and its newest event ' +
    'first. Use it to find out how a problem was met before.',
  input: {
    text: z.string().min(1).describe('The text, as it was written; not a pattern.'),
    workspace: nameInput.optional().describe('Only sessions of this workspace: any directory in it.'),
    limit: limitOf(100),
  },
  isReading: true,
  async call({ text, workspace, limit = 20 }, { store, signal }) {
    const events: FoundEvent[] = []
    const search = store.search(text, {
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
