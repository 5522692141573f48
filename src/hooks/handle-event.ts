import { ifPossible } from '../base/errors/if-possible.ts'
import {
  type Claim,
  forEachClaimed,
  isSameProcess,
  mcpPartyOf,
  msUntil,
  WorkspaceClaims,
} from '../lease/index.ts'
import { firstWords, forgetPrompt, keepPrompt, windowsOf } from './session-prompt.ts'
import { onlyReads } from './reading/only-reads.ts'
import { registerEnvironmentSecrets } from '../secrets/index.ts'
import { beginCall, type EventChoices, type Happening, type HookContext, turnIn } from './begin-call.ts'
import { addsWorktreeElsewhere, callTargets } from './call-target.ts'
import type { HookEvent, Tool } from './event.ts'
import { hosts } from './hosts/hosts.ts'
import { forgetPasses } from './pass.ts'
import { isOfSession, originOf, type Party, partyOf, transcriptNow } from './session-party.ts'
import { allowed, claimLossText, sessionText, undoneText, type Verdict } from './verdict.ts'

/** Events that are about a session only if its main thread sends them. */
const ofMainThread = new Set<HookEvent['kind']>(['prompt', 'stop', 'start', 'end'])

/** Changes the claims as an event requires. Only a tool call that is about to run can be refused. */
export async function handleEvent(
  sent: HookEvent,
  choices: EventChoices,
  context: HookContext,
): Promise<Verdict> {
  if (context.env.STINT_BYPASS === '1') return allowed
  // An interruption in the transcript ends a turn; a claim that a session keeps outlasts its turns.
  const event = choices.hold === 'session' ? { ...sent, transcript: undefined } : sent
  const party = partyOf(event, choices, context.agent)
  const happening = { event, party, choices, context }
  // Subagents and teammates share a session: their prompts, starts and ends are not those of its main thread.
  if (event.subagent && ofMainThread.has(event.kind)) {
    if (event.kind === 'stop' && party.parent !== undefined) await endSubagent(happening)
    return allowed
  }
  switch (event.kind) {
    case 'pre': {
      const tool = changingTool(event)
      return tool === undefined ? allowed : await beginCall(happening, tool)
    }
    case 'post':
      return await endCall(happening)
    case 'waiting':
      await renewAll(happening)
      return allowed
    case 'prompt':
      return await notePrompt(happening)
    case 'stop':
      await endTurn(happening, choices.hold)
      return allowed
    case 'start':
      return await startSession(happening)
    case 'end':
      await endSession(happening)
      return allowed
    default:
      return allowed
  }
}

/** The tool of an event; undefined if it changes no file. */
function changingTool(event: HookEvent): Tool | undefined {
  const { tool } = event
  return tool === undefined || tool.use === 'none' || isHarmless(event, tool) ? undefined : tool
}

const isHarmless = ({ host, cwd }: HookEvent, { name, input: { command } }: Tool): boolean =>
  hosts[host].posixShells.includes(name) &&
  typeof command === 'string' &&
  !(hosts[host].typesCommands && /[#!^\t]/.test(command)) &&
  (onlyReads(command) || addsWorktreeElsewhere(command, cwd))

/** A call has ended: renews the claims that it had, and tells the model if its session has lost one. */
async function endCall(happening: Happening): Promise<Verdict> {
  const { event, choices, context } = happening
  if (event.interrupted && !event.subagent) {
    await endTurn(happening, choices.hold)
    return allowed
  }
  const tool = changingTool(event)
  if (tool === undefined) return allowed
  const targets = callTargets(event, tool, choices.scope, context.env)
  const texts: string[] = []
  for (const { workspace, claimsNothing } of targets) {
    const claims = WorkspaceClaims.open(context.store, { workspace })
    if (!(await renew(happening, claims)) && !claimsNothing) texts.push(await lossIn(happening, claims))
  }
  const text = texts.filter(Boolean).join('\n')
  return text === '' ? allowed : { block: false, context: text }
}

/** Renews the party's claims in a workspace, if half of their time is over; false if it has none. */
async function renew(happening: Happening, claims: WorkspaceClaims): Promise<boolean> {
  const { event, party } = happening
  const { patienceMs } = hosts[event.host]
  const { record, observation } = await claims.read()
  const ownClaims = record.claims.filter((claim) => isOwn(claim, party) && claim.ends === undefined)
  if (ownClaims.length === 0) return false
  if (ownClaims.every((claim) => msUntil(claim, claim.until, observation.now) >= patienceMs / 2)) return true
  const { answer } = await claims.renew(renewalOf(happening))
  return answer.claim !== undefined
}

const renewalOf = ({ event, party, context }: Happening) => ({
  sessionId: party.sessionId,
  holder: party.agent,
  forMs: hosts[event.host].patienceMs,
  // An interruption counts only if it comes after this renewal.
  origin: { transcript: transcriptNow(event, party, context.env) },
})

/** Whether a claim is the party's own, and not that of a second window with its session. */
const isOwn = (claim: Claim, { sessionId, agent }: Party): boolean =>
  isOfSession(sessionId)(claim) &&
  (agent === null ||
    claim.holders.length === 0 ||
    claim.holders.some((process) => isSameProcess(process, agent)))

/** How the session has lost its claim here; empty if it had none, or if its host tells a model nothing. */
async function lossIn({ event, party }: Happening, claims: WorkspaceClaims): Promise<string> {
  if (hosts[event.host].context === undefined) return ''
  const { observation } = await claims.read()
  const lastActivity = (await claims.activity.readRecent()).findLast(isOfSession(party.sessionId))
  return lastActivity?.kind === 'takeover' || lastActivity?.kind === 'break'
    ? claimLossText(lastActivity, observation)
    : ''
}

/** The agent asks its user for permission: its turn goes on. */
async function renewAll(happening: Happening): Promise<void> {
  await forEachClaimed(
    happening.context.store,
    (claim) => isOwn(claim, happening.party),
    async (claims) => void (await claims.renew(renewalOf(happening))),
  )
}

/** The user has sent a prompt. Its first words, if they may be shown, are kept for the claims of the turn. */
async function notePrompt(happening: Happening): Promise<Verdict> {
  const { event, party, choices, context } = happening
  const { env } = context
  const { sessionId, agent } = party
  const words =
    event.prompt === undefined || choices.prompts === false
      ? ''
      : firstWords(registerEnvironmentSecrets(env).gate.text(event.prompt))
  const origin = { ...originOf(event, party, choices, env), ...(words && { prompt: words }) }
  // A claim without these words is as good.
  ifPossible(() => keepPrompt(sessionId, { words, agent, origin }, env))
  const isShared = windowsOf(sessionId, agent, env).length > 1
  const renewal = renewalOf(happening)
  const changes = { ...renewal.origin, ...(words && { prompt: words }) }
  await forEachClaimed(context.store, isOfSession(sessionId), async (claims) => {
    await claims.renew({ ...renewal, origin: changes })
    if (isShared) await forgetTranscripts(claims, sessionId)
  })
  const undoneFiles = hosts[event.host].context === undefined ? [] : (context.points?.undone(sessionId) ?? [])
  return undoneFiles.length === 0 ? allowed : { block: false, context: undoneText(undoneFiles) }
}

/** Two windows of a session share a transcript: an interruption there proves nothing about either. */
async function forgetTranscripts(claims: WorkspaceClaims, sessionId: string): Promise<void> {
  const hasTranscript = (claim: Claim): boolean =>
    isOfSession(sessionId)(claim) && claim.origin?.transcript !== undefined
  await claims.change((record) => {
    if (!record.claims.some(hasTranscript)) return { answer: undefined }
    const without = (claim: Claim): Claim =>
      hasTranscript(claim) ? { ...claim, origin: { ...claim.origin, transcript: undefined } } : claim
    return { next: { ...record, claims: record.claims.map(without) }, answer: undefined }
  })
}

/** How long a claim lasts while the restore point at the end of its turn is taken. */
const lastPointMs = 60_000

/** The turn is over: its claims are released, or end when the processes that its calls have left are gone. */
async function endTurn({ event, party, context }: Happening, hold: EventChoices['hold']): Promise<void> {
  const { store, points, env } = context
  const { sessionId, agent: holder } = party
  await forEachClaimed(
    store,
    (claim) => isOwn(claim, party),
    async (claims, { claims: all }) => {
      const ownClaim = all.find((claim) => isOwn(claim, party) && claim.ends === undefined)
      const turn = ownClaim && turnIn(claims, ownClaim)
      if (points !== undefined && turn !== undefined) {
        await claims.renew({ sessionId, holder, forMs: lastPointMs })
        await points.end(turn)
      }
      await claims.endTurn({ sessionId, holder, hold })
      if (turn !== undefined && event.kind === 'end') points?.sweep(turn)
    },
  )
  if (context.usesPasses) forgetPasses(sessionId, env)
}

/** A subagent has ended: its claim goes, those of its session and of other subagents stay. */
async function endSubagent({ party: { sessionId }, context }: Happening): Promise<void> {
  const isOfSubagent = ({ session_id }: Claim): boolean => session_id === sessionId
  await forEachClaimed(
    context.store,
    isOfSubagent,
    async (claims) => void (await claims.release({ sessionId })),
  )
}

/** The agent goes on with the claims that its process holds under another id, if its host only renames it. */
async function startSession(happening: Happening): Promise<Verdict> {
  const { event, party, context } = happening
  const { sessionId, agent } = party
  const isBefore = ({ session_id, holders, ancestors }: Claim): boolean =>
    session_id !== sessionId &&
    ancestors === undefined &&
    agent !== null &&
    holders.some((process) => isSameProcess(process, agent))
  if (isRenaming(event))
    await forEachClaimed(context.store, isBefore, async (claims, { claims: all }) => {
      for (const { session_id: renamedFrom, paths, mode } of all.filter(isBefore))
        await claims.tryAcquire({
          sessionId,
          holder: agent,
          paths,
          mode,
          forMs: hosts[event.host].patienceMs,
          renamedFrom,
        })
    })
  const isAmbiguous = hosts[event.host].sharesProcess === true || isRenaming(event)
  return isAmbiguous ? { block: false, context: sessionText(party) } : allowed
}

async function endSession(happening: Happening): Promise<void> {
  const { event, party, choices, context } = happening
  forgetPrompt(party.sessionId, context.env)
  await endChildren(happening)
  // The next session of this process takes the claims over.
  if (choices.hold === 'session' && isRenaming(event)) return
  await endTurn(happening, 'turn')
}

/** Releases the claims that end with the session: of its MCP server, and of subagents in its process. */
async function endChildren({ party: { sessionId, agent }, context }: Happening): Promise<void> {
  const isChild = ({ session_id, ancestors, holders }: Claim): boolean =>
    session_id === mcpPartyOf(sessionId) ||
    (ancestors?.[0] === sessionId &&
      agent !== null &&
      holders.every((process) => isSameProcess(process, agent)))
  await forEachClaimed(context.store, isChild, async (claims, { claims: all }) => {
    for (const { session_id } of all.filter(isChild)) await claims.release({ sessionId: session_id })
  })
}

const renamingCauses = new Set(['clear', 'resume', 'fork'])

/** Whether the process of the agent goes on with another session, or began with another one. */
const isRenaming = ({ host, cause = '' }: HookEvent): boolean =>
  hosts[host].renamesSessions === true && renamingCauses.has(cause)
