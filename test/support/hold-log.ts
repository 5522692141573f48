/** One hold of a lock, in nanoseconds of the monotonic clock that all processes of a machine share. */
export interface Hold {
  session: string
  fence: number
  enter: bigint
  end: bigint
  /** The earliest moment at which the lease can expire. */
  lasts: bigint
}

/** The log that one contender writes about itself. */
export interface HoldLog {
  holds: Hold[]
  /** The holds among these whose end is not in the log. */
  unfinished: Hold[]
  /** Leases that expired, and whose holder noticed. */
  lapses: number
  /** Leases in force whose release answered that there was nothing to release. */
  unheard: number
  /** Other holders that it met while it held the lock. */
  doubles: string[]
  faults: string[]
}

/** A line has: event, session, fence, time, and the time at which the lease expires. The last may be torn. */
export function readHoldLog(
  text: string,
  { killedAt, slack = 0n }: { killedAt?: bigint; slack?: bigint } = {},
): HoldLog {
  const log: HoldLog = { holds: [], unfinished: [], lapses: 0, unheard: 0, doubles: [], faults: [] }
  const bySession = new Map<string, Hold>()
  const open = new Set<Hold>()
  let death = killedAt
  for (const line of text.split('\n').slice(0, -1)) {
    const [what, session = '', fence = '', time = '0', until = '0'] = line.split(' ')
    const at = BigInt(time)
    const hold = bySession.get(session)
    if (what === 'die') death = at
    else if (what === 'double') log.doubles.push(`${session} and ${fence}`)
    else if (what === 'enter') {
      const entered = { session, fence: Number(fence), enter: at, end: at, lasts: BigInt(until) }
      bySession.set(session, entered)
      open.add(entered)
    } else if (hold === undefined) throw new Error(`a hold without an entry: ${line}`)
    // A successful refresh proves that no other session held it meanwhile, even if it had expired.
    else if (what === 'fresh') hold.lasts = BigInt(until)
    else {
      if (open.delete(hold)) hold.end = earlier(at, hold.lasts)
      if (what === 'unreleased' && at < hold.lasts) log.unheard += 1
      if (what === 'lost') log.lapses += 1
      if (what === 'lost' && at + slack < hold.lasts) log.faults.push(`${session} lost its lease too early`)
    }
  }
  for (const hold of open) hold.end = death === undefined ? hold.lasts : earlier(death, hold.lasts)
  return { ...log, holds: [...bySession.values()], unfinished: [...open] }
}

/** Pairs of holds at the same time. A hold that ends when the next begins does not overlap it. */
export function overlapsOf(holds: readonly Hold[]): string[] {
  const found: string[] = []
  let last: Hold | undefined
  for (const hold of byEntry(holds)) {
    if (hold.end <= hold.enter) continue
    if (last !== undefined && hold.enter < last.end)
      found.push(`${last.session} and ${hold.session} for ${earlier(last.end, hold.end) - hold.enter} ns`)
    if (last === undefined || hold.end > last.end) last = hold
  }
  return found
}

/** Checks that each fence is higher than `before` and than those of all earlier holds. */
export function fenceFaults(holds: readonly Hold[], before = 0): { faults: string[]; highest: number } {
  const faults: string[] = []
  if (new Set(holds.map(({ fence }) => fence)).size < holds.length) faults.push('a fence was granted twice')
  let highest = before
  for (const { session, fence, enter, lasts } of byEntry(holds)) {
    // Suspended between its grant and the next line of its code: the lease had expired before it was logged.
    if (enter > lasts) continue
    if (fence <= highest) faults.push(`${session} got fence ${fence} after ${highest}`)
    highest = Math.max(highest, fence)
  }
  return { faults, highest }
}

const byEntry = (holds: readonly Hold[]): Hold[] => holds.toSorted((a, b) => (a.enter < b.enter ? -1 : 1))

const earlier = (a: bigint, b: bigint): bigint => (a < b ? a : b)
