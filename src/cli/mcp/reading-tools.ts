import { z } from 'zod'
import { visibleText } from '../../base/text/escape.ts'
import { allClaims, promptedSessions } from '../../lease/index.ts'
import { describeClaim, describeWaiter, renderClaim, renderWaiters } from '../lock/describe.ts'
import { activityLine } from '../lock/history.ts'
import { describeTarget } from '../lock/lock-options.ts'
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
        ...claims.flatMap((claim) => renderClaim(claim, Number.POSITIVE_INFINITY)),
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

export const readingTools = [who, history]
