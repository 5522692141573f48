import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { readOrigin, userName } from '../../base/process/origin.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type Claim, type WorkspaceClaims } from '../index.ts'
import { isBelowAgent } from '../../hooks/index.ts'
import { listNames, matchName } from '../../cli/match-name.ts'
import { confirm } from '../../cli/terminal/print.ts'
import { acquireCommand, describeTarget, openClaims, readSession, targetOptions } from './lock-options.ts'
import { describeClaim, renderClaim } from './describe.ts'

export const lockReleaseCommand = defineBareCommand({
  name: 'release',
  summary: "Gives up a session's claim. Never touches the claim of another session.",
  options: {
    ...targetOptions,
    session: {
      type: 'string',
      value: 'HOLDER',
      help: 'the session (STINT_SESSION_ID, or that of your only `stint lock acquire` here)',
    },
    path: { type: 'strings', value: 'P', help: 'give up only this path, relative to DIR; may be repeated' },
  },
  examples: [
    ['stint lock release', 'gives up what you have acquired here; an agent must name its session'],
    ['stint lock release --session mine', 'says released: false if there was nothing to release'],
  ],
  async run({ warn }, { options }) {
    const namedSession = readSession(options.session)
    const claims = await openClaims(options, warn)
    const sessionId = namedSession ?? (await findAcquired(claims))
    const paths = claims.pathsOf(options.path, options.workspace)
    const { released } = await claims.release({ sessionId, paths })
    await claims.activity.written()
    return { released, session_id: sessionId }
  },
  render: ({ released, session_id }) =>
    released ? `released the claim of ${session_id}` : `${session_id} had nothing to release`,
})

/** The session of the only claim that this user, and no agent, has made here with `stint lock acquire`. */
async function findAcquired(claims: WorkspaceClaims): Promise<string> {
  // An agent that was refused must not give up what its user holds.
  if (await isBelowAgent())
    throw new StintError('ARG_ERROR', 'no session given', {
      hint: 'Give --session ID: an agent, and what it starts, must name the session.',
    })
  const { user, hostname } = readOrigin(process.pid)
  const { claims: inForce } = await claims.status()
  const acquired = inForce.filter(
    ({ origin }) =>
      origin?.command === acquireCommand && origin.user === user && origin.hostname === hostname,
  )
  const [only, other] = acquired
  if (only !== undefined && other === undefined) return only.session_id
  const hint = `${holdersText(inForce)} Give --session ID.`
  if (only === undefined)
    throw new StintError(
      'NOT_FOUND',
      `\`stint lock acquire\` has made no claim of yours on ${claims.title}`,
      {
        hint,
      },
    )
  throw new StintError('ARG_ERROR', `${acquired.length} claims on ${claims.title} are yours: which one?`, {
    hint,
    facts: { candidates: acquired.map(({ session_id }) => session_id) },
  })
}

export const lockBreakCommand = defineBareCommand({
  name: 'break',
  summary:
    "Removes another session's claim against its will. The holder notices at its next refresh or check.",
  options: {
    ...targetOptions,
    session: { type: 'string', value: 'HOLDER', help: 'whose claim: the id, its beginning, the agent, or .' },
    reason: { type: 'string', value: 'TEXT', help: 'why; recorded together with who did it' },
    yes: { type: 'boolean', help: 'do not ask; an exact id is never asked about' },
  },
  examples: [
    ['stint lock break --session . --reason "hung since noon"', 'shows the only claim here, and asks'],
    ['stint lock break --session 3f6c --yes', 'the session whose id begins so'],
  ],
  async run({ warn, screen }, { options }) {
    const claims = await openClaims(options, warn)
    const { claims: inForce, observation } = await claims.status()
    const { claim: seen, isExact } = findClaim(options.session, inForce, claims.title)
    const shown = renderClaim(describeClaim(seen, observation), describeTarget(claims), screen).join('\n')
    const question = `${shown}\nBreak this claim? Its holder may still be writing.`
    await confirm(options.yes || isExact, 'breaking a claim by a shortened name', question)
    return await breakClaim(claims, seen, options.reason)
  },
  render: ({ broken, session_id }) =>
    broken ? `the claim of ${session_id} is broken` : `that claim of ${session_id} was gone already`,
})

/** Breaks the claim that a user was shown, and no newer one of a session that has come back to life. */
export async function breakClaim(
  claims: WorkspaceClaims,
  { session_id, fence }: Pick<Claim, 'session_id' | 'fence'>,
  reason: string | undefined,
) {
  const broken = await claims.break(
    { session_id, fence },
    {
      by: userName(),
      reason: reason === undefined ? null : registerEnvironmentSecrets().gate.text(reason),
      at: Date.now(),
    },
  )
  await claims.activity.written()
  return { broken, session_id, fence: broken ? fence : null }
}

/** Finds the claim that a name means, among those on one workspace; `.` is the only one there is. */
function findClaim(
  name: string | undefined,
  claims: readonly Claim[],
  target: string,
): { claim: Claim; isExact: boolean } {
  const hint = holdersText(claims)
  if (name === undefined)
    throw new StintError('ARG_ERROR', 'no session given', { hint: `Give --session ID. ${hint}` })
  const nameable = claims.map((claim) => ({
    claim,
    id: claim.session_id,
    agent: claim.origin?.agent,
    isHere: true,
  }))
  const { items, isExact } = matchName(name, nameable)
  const [only, other] = items
  if (only === undefined)
    throw new StintError('NOT_FOUND', `${visibleText(name, 140)} has no claim on ${target}`, { hint })
  if (other !== undefined)
    throw new StintError('ARG_ERROR', `${name} matches ${items.length} claims on ${target}`, {
      hint: `Give more of the id. ${hint}`,
      facts: { candidates: items.map(({ id }) => id) },
    })
  return { claim: only.claim, isExact }
}

function holdersText(claims: readonly Claim[]): string {
  if (claims.length === 0) return 'No session holds it.'
  const holders = claims.map(({ session_id, origin }) =>
    origin?.agent === undefined ? session_id : `${session_id} (${origin.agent})`,
  )
  return `It is held by ${listNames(holders)}.`
}
