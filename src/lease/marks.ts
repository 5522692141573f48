import { errorCode } from '../base/errors/stint-error.ts'
import { isSessionId } from '../base/text/id.ts'
import type { Claim, ClaimHolder, ClaimPass, ClaimsRecord, HolderCall } from './claim-record.ts'
import type { FileStep } from './file-register.ts'
import type { MarkFile, Now, Register, Steps } from './register.ts'

// A session that holds a workspace has a pass (`pass.ts`). With it, a script allows the session's next calls
// without changing the record: it appends a mark for the call to a file that is named after the key and epoch
// of the pass, then lists the epochs of the key, and allows the call if that epoch is still the highest. So
// every reader of claims reads the marks, too.
//
// A process that changes the record must know all marks: it first swaps in the same record as `closed`. After
// that no script can find its epoch on top, so every call that a script has allowed has its mark by then.
// The change is decided on these marks, and contains their calls.

/** A line that a hook appends when a call begins or ends: `+ID UPTIME AGENT KIND` or `-ID UPTIME`. */
interface Mark {
  begins: boolean
  id: string
  /** Seconds since boot, with the time that the machine was suspended. */
  uptime: number
  /** The pid of the agent. */
  agent?: number
  kind?: 'command' | 'edit'
}

const line = /^([+-])([\w.-]{1,128}) (\d{1,12}\.\d{1,9})(?: (\d{1,10}) (command|edit))?$/

/** Whether the id of a call can be in a mark. */
export const isMarkId = (id: string): boolean => /^[\w.-]{1,128}$/.test(id)

/** The marks of a file. A line that is torn or damaged is undefined. */
function parseMarks(text: string): (Mark | undefined)[] {
  const lines = text.split('\n')
  // A file ends with a line break, unless its last mark is being written.
  if (lines.at(-1) === '') lines.pop()
  return lines.map((each) => {
    const [, sign, id, uptime, agent, kind] = line.exec(each) ?? []
    if (sign === undefined || id === undefined) return undefined
    return {
      begins: sign === '+',
      id,
      uptime: Number(uptime),
      ...(agent && { agent: Number(agent), kind: kind as Mark['kind'] }),
    }
  })
}

/** The marks of a session, read at one moment. */
interface SessionMarks {
  files: readonly MarkFile[]
  uptime: number
}

/**
 * A claim with the calls of its marks, and refreshed by the latest of them. Only marks after the epoch that
 * the record has folded begin calls; an end counts in any file, as an agent may have changed its directory.
 */
export function applyMarks(claim: Claim, key: string, { files, uptime }: SessionMarks, now: Now): Claim {
  const { pass } = claim
  if (pass === undefined) return claim
  const suspendedMs = claim.clock === now.clock ? suspendedSince(pass, uptime, now) : 0
  const ageOf = (at: number): number => Math.max(0, (uptime - at) * 1000 - suspendedMs)
  const parsed = files.map(({ key: of, epoch, text }) => ({
    isOwn: text === undefined || (of === key && epoch > pass.folded),
    // A file that cannot be read is like one torn line.
    marks: text === undefined ? [undefined] : parseMarks(text),
  }))
  const ended = new Set(
    parsed.flatMap(({ marks }) => marks.flatMap((mark) => (mark?.begins === false ? mark.id : []))),
  )
  const own = parsed.flatMap(({ isOwn, marks }) => (isOwn ? marks : []))
  const begun = own.filter((mark): mark is Mark => mark?.begins === true && !ended.has(mark.id))
  const holders = claim.holders.map((holder) => ({
    ...holder,
    calls: [
      ...holder.calls.filter(({ id }) => !ended.has(id) && !begun.some((mark) => mark.id === id)),
      ...begun
        .filter(({ agent }) => holder === holderOf(claim.holders, agent))
        .map((mark) => callOf(mark, now.wall - ageOf(mark.uptime))),
    ],
  }))
  // A torn line is activity now.
  const ageMs = own.reduce(
    (least, mark) => Math.min(least, mark === undefined ? 0 : ageOf(mark.uptime)),
    Number.POSITIVE_INFINITY,
  )
  return { ...refreshed(claim, ageMs, now), holders }
}

/** For how long the machine was suspended since the claim got its pass, in milliseconds. */
const suspendedSince = (pass: ClaimPass, uptime: number, { mono }: Now): number =>
  Math.max(0, (uptime - pass.uptime) * 1000 - (mono - pass.mono))

/** The holder that a mark is about: the agent that it names, else the last one. */
const holderOf = (holders: readonly ClaimHolder[], agent: number | undefined): ClaimHolder | undefined =>
  holders.find(({ pid }) => pid === agent) ?? holders.at(-1)

const callOf = ({ id, uptime, kind }: Mark, since: number): HolderCall => ({
  id,
  since: Math.round(since),
  kind: kind ?? 'command',
  ticks: Math.floor(uptime * 100),
})

/** The claim as if it had been refreshed `ageMs` ago, unless it was refreshed later. */
function refreshed(claim: Claim, ageMs: number, now: Now): Claim {
  if (!Number.isFinite(ageMs)) return claim
  const refreshed_at = Math.max(claim.refreshed_at, Math.round(now.wall - ageMs))
  const mono = claim.clock === now.clock ? Math.max(claim.mono, Math.round(now.mono - ageMs)) : claim.mono
  return { ...claim, refreshed_at, mono }
}

/** The record with the calls of all marks. */
export function* withMarks(
  { marks }: Register,
  key: string,
  record: ClaimsRecord,
  now: Now,
): Steps<unknown, ClaimsRecord> {
  if (marks === undefined) return record
  const claims: Claim[] = []
  for (const claim of record.claims) {
    const { files, uptime } = claim.pass === undefined ? noMarks : yield* marks.read(claim.session_id)
    claims.push(uptime === undefined ? claim : applyMarks(claim, key, { files, uptime }, now))
  }
  return { ...record, claims }
}

const noMarks = { files: [], uptime: undefined }

/** A record to write after a closed one, whose marks it contains. */
export function withFolded({ closed: _closed, ...record }: ClaimsRecord, epoch: number): ClaimsRecord {
  const fold = (claim: Claim): Claim =>
    claim.pass === undefined ? claim : { ...claim, pass: { ...claim.pass, folded: epoch } }
  return { ...record, claims: record.claims.map(fold) }
}

/** The key and epoch in the name of a file with marks; undefined for any other name. */
export function epochOfMarks(name: string): { key: string; epoch: number } | undefined {
  const [, key, epoch] = /^([0-9a-f]{12})\.([1-9]\d{0,14})$/.exec(name) ?? []
  return key === undefined ? undefined : { key, epoch: Number(epoch) }
}

/** The name of the file with the ends of calls that were refused after their marks were written. */
export const endsName = 'ends'

/** Reads the marks of a session from its directory in `directory`. */
export function* readMarks(
  directory: string,
  sessionId: string,
): Steps<FileStep, { files: MarkFile[]; uptime: number | undefined }> {
  const files: MarkFile[] = []
  const path = `${directory}/${sessionId}`
  try {
    // A record may be damaged or forged: its session must not lead out of the directory.
    const names = isSessionId(sessionId) ? ((yield { call: 'list', path }) as string[]) : []
    for (const name of names) {
      const of = name === endsName ? { key: '', epoch: 0 } : epochOfMarks(name)
      if (of === undefined) continue
      const text = (yield { call: 'readText', path: `${path}/${name}` }) as string | undefined
      files.push({ ...of, text })
    }
  } catch (error) {
    // Marks that cannot be read may be of a call that runs.
    if (errorCode(error) !== 'ENOENT') files.push({ key: '', epoch: 0, text: undefined })
  }
  return { files, uptime: (yield { call: 'uptime' }) as number | undefined }
}
