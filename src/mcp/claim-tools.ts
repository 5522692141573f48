import { z } from 'zod'
import { StintError } from '../base/errors/stint-error.ts'
import { systemClock } from '../base/process/clock.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleText } from '../base/text/escape.ts'
import { overlap, pathsText, type WorkspaceClaims } from '../lease/index.ts'
import { type ClaimWish, findParty, requestFor } from './held-claims.ts'
import { defineTool, nameInput, openTarget, targetInput, targetOf, type ToolContext } from './tool.ts'

const noPath = 'name a file or a directory; for the whole workspace, leave paths out'

const wishInput = {
  ...targetInput,
  paths: z
    .array(nameInput.min(1, noPath))
    .min(1, noPath)
    .max(1000, 'name a directory above them')
    .optional()
    .describe('Files, or directories with everything below them. Default: the whole workspace.'),
  session: nameInput.optional().describe('The id of your own session. Needed only if a tool asks for it.'),
}

const waitSeconds = z.number().min(0).max(3600).optional()
/** Clients give up after 60 s. */
const defaultWaitSeconds = 45

const claim = defineTool({
  name: 'claim',
  title: 'Claim files',
  description:
    'Claims the workspace, or paths in it: no other session can edit them until you release them. ' +
    'If granted is false, another session holds them: leave them alone, and wait with wait_until_free.',
  input: {
    ...wishInput,
    purpose: z.string().max(500).optional().describe('What you are going to do, for the other sessions.'),
    wait_seconds: waitSeconds.describe('Wait for them. Default: 0.'),
  },
  isReading: false,
  async call({ purpose, wait_seconds = 0, ...args }, context) {
    const claims = openTarget(context, args)
    const wish = { ...(await wishOf(context, claims, args)), purpose }
    const about = { ...targetOf(claims), session_id: wish.party.sessionId }
    const options = { waitMs: wait_seconds * 1000, signal: context.signal }
    try {
      const { paths } = await announced(context.held.acquire(claims, wish, options), claims, wish, context)
      const text = `granted: ${pathsText(paths)} in ${claims.title}, until you release it`
      return { data: { granted: true, ...about, paths }, text }
    } catch (error) {
      const reason = heldReason(error, wish)
      return { data: { granted: false, ...about, paths: wish.paths, reason }, text: `refused: ${reason}` }
    }
  },
})

const release = defineTool({
  name: 'release',
  title: 'Release a claim',
  description:
    'Gives up what you got by claim, or some paths of it, so that other sessions can go on. ' +
    'What your edits have claimed by themselves ends with your turn.',
  input: wishInput,
  isReading: false,
  async call(args, context) {
    const claims = openTarget(context, args)
    const { party, paths } = await wishOf(context, claims, args)
    const chosenPaths = args.paths === undefined ? undefined : paths
    const { released, left } = await context.held.release(claims, party.sessionId, chosenPaths)
    const rest = left === undefined ? 'nothing' : pathsText(left.paths)
    const text = released
      ? `released ${pathsText(chosenPaths ?? claims.target.whole)}`
      : `not released: you hold ${rest} by claim`
    return { data: { released, ...targetOf(claims) }, text }
  },
})

const waitUntilFree = defineTool({
  name: 'wait_until_free',
  title: 'Wait until free',
  description:
    'Returns as soon as no other session holds the workspace, or these paths in it. It claims nothing. ' +
    'If free is false, another session still holds them after wait_seconds.',
  input: { ...wishInput, wait_seconds: waitSeconds.describe(`Default: ${defaultWaitSeconds}.`) },
  isReading: true,
  async call({ wait_seconds = defaultWaitSeconds, ...args }, context) {
    const claims = openTarget(context, args)
    const wish = await wishOf(context, claims, args)
    const startedAtMs = systemClock.mono()
    const options = { waitMs: wait_seconds * 1000, signal: context.signal }
    const waiting = announced(claims.untilFree(requestFor(wish), options), claims, wish, context)
    const reason = await waiting.then(
      () => undefined,
      (error: unknown) => heldReason(error, wish),
    )
    const waited_ms = Math.round(systemClock.mono() - startedAtMs)
    const data = { free: reason === undefined, ...targetOf(claims), waited_ms }
    return reason === undefined
      ? { data, text: `free, after ${formatDuration(Math.round(waited_ms / 1000) * 1000)}` }
      : { data: { ...data, reason }, text: `still held: ${reason}` }
  },
})

export const claimTools = [claim, release, waitUntilFree]

/** Makes the wish of a call, by the session that the server works for. */
async function wishOf(
  { leases }: ToolContext,
  claims: WorkspaceClaims,
  { paths = [], session, workspace }: { paths?: string[]; session?: string; workspace?: string },
): Promise<ClaimWish> {
  return { party: await findParty(leases, session), paths: claims.pathsOf(paths, workspace) }
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

/** The message of LOCK_HELD, with the paths that are in the way; any other error is thrown again. */
function heldReason(error: unknown, { paths }: ClaimWish): string {
  if (!(error instanceof StintError) || error.code !== 'LOCK_HELD') throw error
  const { holder } = error.options.facts as { holder: { paths: readonly string[] } }
  const isInTheWay = (path: string): boolean =>
    overlap({ paths: [path], mode: 'exclusive' }, { paths, mode: 'exclusive' })
  const inTheWay = holder.paths.filter(isInTheWay)
  return inTheWay.includes('**') ? error.message : `${pathsText(inTheWay)} in ${error.message}`
}
