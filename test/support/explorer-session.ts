import type { Identity } from '../../src/base/process/liveness.ts'
import { thisMachine } from '../../src/base/process/platform.ts'
import type { Claim } from '../../src/lease/claim.ts'
import { fileRegister } from '../../src/lease/file-register.ts'
import type { Observation } from '../../src/lease/force.ts'
import type { LeaseStore, Now, Register } from '../../src/lease/register.ts'
import type { AcquireRequest, Granted } from '../../src/lease/rules.ts'
import type { WorkspaceClaims } from '../../src/lease/workspace-claims.ts'
import type { ClaimsMutation } from './explorer-claims-mutations.ts'
import { claimsWith } from './explorer-claims-mutations.ts'
import type { Answer } from './explorer-directory.ts'
import { type Position, replay } from './explorer-replay.ts'

export const ttlMs = 300_000

/** `prompt` renews a claim as a prompt of the user does, after whatever was interrupted. */
export type Operation = 'acquire' | 'renew' | 'prompt' | 'end turn' | 'release' | 'break'

/** What a session can see of another one's agent and processes. */
export interface Facts {
  isDead: boolean
  /** The size of its transcript at which the user has interrupted the turn; 0 if that is not so. */
  interruptedAt: number
  /** The first fence of the claim under which it has started the command that runs; 0 if none does. */
  command: number
}

export type AllFacts = Readonly<Record<string, Facts>>

/** The answer to a call of a session; one to a look at the clock comes with all that it sees then. */
export interface Event {
  answer: Answer
  facts?: AllFacts
}

export interface OperationOf {
  id: string
  operation: Operation
  events: readonly Event[]
  /** The first fence of the claim that it believes to have. */
  firstFence: number | undefined
  /** The size of its transcript when the operation began. */
  transcript: number
}

export interface Outcome {
  operation: Operation
  now: Now
  granted?: Granted
  refusedBy?: Claim
  renewed?: Claim
}

/** How the sessions of an exploration behave. */
export interface Behavior {
  /** The parent has started the processes of all sessions. */
  isFamily: boolean
  mutation?: ClaimsMutation
}

/** Runs the operation of a session through all its events. */
export function positionOf(session: OperationOf, behavior: Behavior): Promise<Position<Outcome>> {
  const { events } = session
  let seen: AllFacts = {}
  const claimsIn = (register: Register): WorkspaceClaims =>
    claimsWith(behavior.mutation, storeOf(register), (now) => observationOf(now, seen))
  return replay(
    (files) => run(session, claimsIn(fileRegister('/locks', files)), behavior),
    events.map(({ answer }) => answer),
    (index) => (seen = events[index]?.facts ?? seen),
  )
}

async function run(session: OperationOf, claims: WorkspaceClaims, behavior: Behavior): Promise<Outcome> {
  const { id: sessionId, operation, firstFence, transcript } = session
  const holder = processOf(sessionId)
  switch (operation) {
    case 'acquire': {
      const { answer, observation } = await claims.tryAcquire(requestOf(session, behavior))
      const { now } = observation
      return answer.granted ? { operation, now, granted: answer } : { operation, now, refusedBy: answer.by }
    }
    case 'renew':
    case 'prompt': {
      const origin = operation === 'prompt' ? { transcript: transcriptOf(transcript) } : undefined
      const { answer, observation } = await claims.renew({ sessionId, firstFence, forMs: ttlMs, origin })
      return { operation, now: observation.now, renewed: answer.claim }
    }
    case 'end turn': {
      const { observation } = await claims.endTurn({ sessionId, holder, hold: 'turn' })
      return { operation, now: observation.now }
    }
    case 'release': {
      await claims.release({ sessionId, firstFence, holders: [holder] })
      return { operation, now: noTime }
    }
    case 'break': {
      const { record, observation } = await claims.read()
      const [claim] = record.claims
      if (claim) await claims.break(claim, { by: sessionId, reason: null, at: observation.now.wall })
      return { operation, now: observation.now }
    }
  }
}

const noTime: Now = { wall: 0, mono: 0, clock: '' }

function requestOf({ id, transcript }: OperationOf, { isFamily }: Behavior): AcquireRequest {
  return {
    sessionId: id,
    holder: processOf(id),
    paths: ['**'],
    mode: 'exclusive',
    forMs: ttlMs,
    origin: () => ({ transcript: transcriptOf(transcript) }),
    descent: () => ({
      machine: thisMachine(),
      processes: isFamily ? [processOf(parent)] : [],
      isComplete: true,
      sessions: [],
      variables: [],
    }),
  }
}

const transcriptOf = (size: number) => ({ path: '/transcript', size })

/** The explorer's machine, as a session sees it. */
function observationOf(now: Now, facts: AllFacts): Observation {
  const ofSession = (id: string): Facts | undefined => facts[id]
  return {
    now,
    liveness: ({ pid }) =>
      Object.entries(facts).some(([id, { isDead }]) => isDead && pidOf(id) === pid) ? 'dead' : 'alive',
    work({ session_id, first_fence }) {
      const { command = 0 } = ofSession(session_id) ?? {}
      const process = { pid: 1, command: 'make', ageMs: 1, isServer: false }
      return command === 0 ? [] : [{ ...process, isSinceGrant: command >= first_fence }]
    },
    isTurnOver({ session_id, origin }) {
      const { interruptedAt = 0 } = ofSession(session_id) ?? {}
      return interruptedAt > (origin?.transcript?.size ?? 0)
    },
  }
}

const storeOf = (register: Register): LeaseStore => ({
  register,
  waiters: { list: async () => [], add: async () => '', remove: async () => {} },
  activity: { append() {}, written: async () => {}, read: async () => [] },
  locate: () => '',
})

/** The session that has started the others of a family, and holds the lease all the time. */
export const parent = 'ses_p'

export const processOf = (session: string): Identity => ({
  ...thisMachine(),
  pid: pidOf(session),
  started: 1,
})

const pidOf = (session: string): number => 1000 + (session.codePointAt(session.length - 1) ?? 0)
