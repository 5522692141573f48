import { z } from 'zod'
import { StintError } from '../../base/errors/stint-error.ts'
import { systemClock } from '../../base/process/clock.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { WorkspaceClaims } from '../../lease/index.ts'
import { describeTarget } from '../lock/lock-options.ts'
import { findParty } from './agent-session.ts'
import { type ClaimWish, requestFor } from './held-claims.ts'
import { defineTool, openTarget, sessionInput, targetInput, targetOutput, type ToolContext } from './tool.ts'

const wishInput = {
  ...targetInput,
  paths: z
    .array(z.string())
    .optional()
    .describe('Files, or directories with everything below them. Default: the whole workspace.'),
  ...sessionInput,
}

const maxWaitSeconds = 3600

const claim = defineTool({
  name: 'claim',
  title: 'Claim files',
  description:
    'Claims the workspace, or paths in it: no other session can edit them until you release them. ' +
    'If granted is false, another session holds them: leave them alone, and wait with wait_until_free.',
  input: z.object({
    ...wishInput,
    shared: z.boolean().optional().describe('Share them with other shared claims, as readers do.'),
    purpose: z.string().max(500).optional().describe('What you are going to do, for the other sessions.'),
    wait_seconds: z.number().min(0).max(maxWaitSeconds).optional().describe('Wait for them. Default: 0.'),
  }),
  output: z.object({
    granted: z.boolean(),
    ...targetOutput,
    session_id: z.string(),
    paths: z.array(z.string()),
    fence: z.number().optional().describe('Grows with every grant; a later holder has a higher one.'),
    reason: z.string().optional(),
  }),
  isReading: false,
  async call({ shared, purpose, wait_seconds = 0, ...args }, context) {
    const claims = openTarget(context, args)
    const wish = { ...(await wishOf(context, claims, args)), mode: modeOf(shared), purpose }
    const about = { ...describeTarget(claims), session_id: wish.party.sessionId }
    const waitMs = wait_seconds * 1000
    const acquiring = context.held.acquire(claims, wish, { waitMs, signal: context.signal })
    try {
      const { paths, fence } = await announced(acquiring, claims, wish, context)
      const text = `granted: ${namesOf(paths)} in ${claims.name}, until you release it`
      return { data: { granted: true, ...about, paths, fence }, text }
    } catch (error) {
      const reason = heldReason(error)
      return {
        data: { granted: false, ...about, paths: [...wish.paths], reason },
        text: `refused: ${reason}`,
      }
    }
  },
})

const release = defineTool({
  name: 'release',
  title: 'Release a claim',
  description:
    'Gives up what you got by claim, or some paths of it, so that other sessions can go on. ' +
    'What your edits have claimed by themselves ends with your turn.',
  input: z.object(wishInput),
  output: z.object({ released: z.boolean(), ...targetOutput }),
  isReading: false,
  async call(args, context) {
    const claims = openTarget(context, args)
    const { party, paths } = await wishOf(context, claims, args)
    const given = args.paths === undefined ? undefined : paths
    const { released, claim } = await context.held.release(claims, party.sessionId, given)
    const left = claim === undefined ? 'nothing' : namesOf(claim.paths)
    const text = released ? `released ${namesOf(given ?? ['**'])}` : `not released: you hold ${left} by claim`
    return { data: { released, ...describeTarget(claims) }, text }
  },
})

const waitUntilFree = defineTool({
  name: 'wait_until_free',
  title: 'Wait until free',
  description:
    'Returns as soon as no other session holds the workspace, or these paths in it. It claims nothing. ' +
    'If free is false, another session still holds them after the timeout.',
  input: z.object({
    ...wishInput,
    timeout_seconds: z.number().min(0).max(maxWaitSeconds).optional().describe('Default: 60.'),
  }),
  output: z.object({
    free: z.boolean(),
    ...targetOutput,
    waited_ms: z.number(),
    reason: z.string().optional(),
  }),
  isReading: true,
  async call({ timeout_seconds = 60, ...args }, context) {
    const claims = openTarget(context, args)
    const wish = await wishOf(context, claims, args)
    const startedAtMs = systemClock.mono()
    const waiting = claims.untilFree(requestFor(wish), {
      waitMs: timeout_seconds * 1000,
      signal: context.signal,
    })
    const reason = await announced(waiting, claims, wish, context).then(() => undefined, heldReason)
    const waited_ms = Math.round(systemClock.mono() - startedAtMs)
    const data = { free: reason === undefined, ...describeTarget(claims), waited_ms }
    const text = `free, after ${formatDuration(Math.round(waited_ms / 1000) * 1000)}`
    return reason === undefined
      ? { data, text }
      : { data: { ...data, reason }, text: `still held: ${reason}` }
  },
})

export const claimTools = [claim, release, waitUntilFree]

const modeOf = (shared: boolean | undefined): ClaimWish['mode'] => (shared ? 'shared' : 'exclusive')

const namesOf = (paths: readonly string[]): string =>
  paths.includes('**') ? 'all of it' : visibleText(paths.join(', '), 500)

/** Makes the wish of a call: an exclusive claim, by the session that the server works for. */
async function wishOf(
  { register }: ToolContext,
  claims: WorkspaceClaims,
  { paths = [], session, workspace }: { paths?: string[]; session?: string; workspace?: string },
): Promise<ClaimWish> {
  const party = await findParty(register, session)
  return { party, paths: claims.pathsOf(paths, workspace), mode: 'exclusive' }
}

/** How often a client learns that a call still waits. */
const progressEveryMs = 1000

/** Tells the client, from time to time, for which session a call waits. */
async function announced<Result>(
  waiting: Promise<Result>,
  claims: WorkspaceClaims,
  wish: ClaimWish,
  { progress }: ToolContext,
): Promise<Result> {
  const announce = async (): Promise<void> => {
    const blocker = await claims.findBlocker(requestFor(wish)).catch(() => undefined)
    progress(blocker === undefined ? 'waiting' : `waiting for ${visibleText(blocker.refused.by.session_id)}`)
  }
  const timer = setInterval(() => void announce(), progressEveryMs)
  try {
    return await waiting
  } finally {
    clearInterval(timer)
  }
}

/** The message of LOCK_HELD; any other error is thrown again. */
function heldReason(error: unknown): string {
  if (error instanceof StintError && error.code === 'LOCK_HELD') return error.message
  throw error
}
