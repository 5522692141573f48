/** How the command of a call goes, if no process is stopped for long. */
export const briefWays = [
  /** To its end. */
  'plain',
  /** Until its user interrupts it, of which no event tells. */
  'interrupted',
  /** On after its turn, as a child of the agent. */
  'background',
  /** On after its turn, without its parent, but with the agent's environment. */
  'daemon',
  /** On after its turn, without either. */
  'hidden',
  /** To its end, while its agent is stopped for a while. */
  'stopped',
  /** On after its agent was killed. */
  'killed',
] as const

/** All ways of a command, also with an agent that is stopped for longer than a claim lasts. */
export const allWays = [
  ...briefWays,
  /** To its end. Then its agent is stopped, between two calls. */
  'paused',
  /** To its end. Its agent is stopped meanwhile, for longer than a call without a process counts, too. */
  'frozen',
] as const

export type Way = (typeof allWays)[number]

/** A call of a session whose command writes to the workspace. Times are in milliseconds since the epoch. */
export interface StormCall {
  session: string
  way: Way
  /** When its turn ended or its agent was killed, at the earliest; absent if neither has happened. */
  endedAt?: number
}

/** A write of a command: not before `from`, and before `until`. */
export interface Write {
  call: string
  from: number
  until: number
}

/** An exclusive claim that was in force at least from `from` until `until`. */
export interface Hold {
  session: string
  grantedAt: number
  from: number
  until: number
}

export interface StormVerdict {
  /** Writes of one session that fell into the claim of another. */
  violations: string[]
  /** Such writes by processes that have neither their parent nor their environment: nothing tells whose. */
  hidden: number
  /** Such writes by processes that had outlived their bound when the other session got its claim. */
  outlasting: number
}

/** Judges each write by the claims at its time. A claim protects a command until `boundMs` after its turn. */
export function judgeWrites(
  calls: ReadonlyMap<string, StormCall>,
  { writes, holds }: { writes: readonly Write[]; holds: readonly Hold[] },
  boundMs: number,
): StormVerdict {
  const verdict: StormVerdict = { violations: [], hidden: 0, outlasting: 0 }
  for (const write of writes) {
    const call = calls.get(write.call)
    if (call === undefined) throw new Error(`a write of an unknown call: ${write.call}`)
    const other = holds.find(
      ({ session, from, until }) => session !== call.session && from <= write.from && write.until < until,
    )
    if (other === undefined) continue
    const { way, endedAt = Number.POSITIVE_INFINITY } = call
    if (way === 'hidden') verdict.hidden += 1
    else if (other.grantedAt >= endedAt + boundMs) verdict.outlasting += 1
    else verdict.violations.push(describe(write, call, other))
  }
  return verdict
}

const describe = ({ call, from }: Write, { session, way, endedAt }: StormCall, other: Hold): string =>
  `${call} (${way}) of ${session} wrote at ${from}, ` +
  (endedAt === undefined ? 'in its turn' : `${Math.round(from - endedAt)} ms after its turn`) +
  `, in the claim that ${other.session} got at ${other.grantedAt}`
