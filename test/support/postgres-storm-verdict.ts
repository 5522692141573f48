/** What a storm has shown. */
export interface StormVerdict {
  grants: number
  /** Leases that ran out, and whose holder learned it. */
  lapses: number
  /** Pairs of holders at one time. */
  overlaps: string[]
  /** Fences that do not grow, and leases that were called lost before their time. */
  faults: string[]
}

interface Hold {
  session: string
  fence: number
  enter: bigint
  end: bigint
  /** Until when the lease lasts, at the least. */
  lasts: bigint
}

/** A timer may be that early. */
const slack = 2_000_000n

/** From what the contenders wrote down: each line has what, session, fence, when, and until when it lasts. */
export function judgeHolds(logs: readonly { text: string; killedAt?: bigint }[]): StormVerdict {
  const verdict: StormVerdict = { grants: 0, lapses: 0, overlaps: [], faults: [] }
  const holds = logs.flatMap(({ text, killedAt }) => readHolds(text, killedAt, verdict))
  holds.sort((a, b) => (a.enter < b.enter ? -1 : 1))
  verdict.grants = holds.length
  let last: Hold | undefined
  let fence = 0
  for (const hold of holds) {
    // Stopped between its grant and the next line of its code: it was over before it could say so.
    if (hold.enter > hold.lasts) continue
    if (hold.fence <= fence) verdict.faults.push(`${hold.session} got fence ${hold.fence} after ${fence}`)
    fence = Math.max(fence, hold.fence)
    if (last !== undefined && hold.enter < last.end && hold.enter < hold.end)
      verdict.overlaps.push(`${last.session} and ${hold.session}`)
    if (last === undefined || hold.end > last.end) last = hold
  }
  return verdict
}

function readHolds(text: string, killedAt: bigint | undefined, verdict: StormVerdict): Hold[] {
  const holds = new Map<string, Hold>()
  const open = new Set<Hold>()
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    const [what, session = '', fence, time = '0', until = '0'] = line.split(' ')
    const at = BigInt(time)
    const hold = holds.get(session)
    if (what === 'enter') {
      const entered = { session, fence: Number(fence), enter: at, end: BigInt(until), lasts: BigInt(until) }
      holds.set(session, entered)
      open.add(entered)
    } else if (hold !== undefined && what === 'fresh') hold.lasts = BigInt(until)
    else if (hold !== undefined) {
      open.delete(hold)
      hold.end = earlier(at, hold.lasts)
      if (what !== 'lost') continue
      verdict.lapses += 1
      if (at + slack < hold.lasts) verdict.faults.push(`${session} was told too early that its lease is lost`)
    }
  }
  for (const hold of open) hold.end = killedAt === undefined ? hold.lasts : earlier(killedAt, hold.lasts)
  return [...holds.values()]
}

const earlier = (a: bigint, b: bigint): bigint => (a < b ? a : b)
