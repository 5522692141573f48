import { relative } from 'node:path'
import { foldNames } from '../base/fs/canonical-path.ts'
import { isWithin } from '../base/fs/paths.ts'
import { type Claim, parseClaimsRecord, wholeWorkspace } from './claim-record.ts'
import { isDeserted } from './claim-work.ts'
import { isRepository, isWorkspaceKey } from './lease-target.ts'
import type { Register, RegisterEntry, Steps } from './register.ts'
import {
  type AcquireAnswer,
  covers,
  decideAncestors,
  decideWithdraw,
  decideYield,
  type Decision,
  type Refused,
  refusedBy,
  type YieldAnswer,
} from './rules.ts'
import { type Decide, type Decided, livenessFor, type Review, StoredClaims } from './stored-claims.ts'
import type { Claimant } from './waiting.ts'

/** A directory without git, whose claims can conflict with those of directories above and below. */
export interface Nesting extends Pick<Claimant, 'descent'> {
  register: Register
  key: string
  path: string
}

/** The entries of other workspaces that this process last read, by register and key: they change rarely. */
const lastRead = new WeakMap<Register, Map<string, RegisterEntry>>()

/**
 * A directory without git is its own workspace, and so is each directory in it: their claims are in
 * different records, and conflict if they overlap. Each side writes its claim first and then looks for
 * others, so of two that claim at the same moment at least one sees the other. A new claim stays marked as
 * unconfirmed until its session claims again: its writer may have been killed before it had looked.
 */
export function* claimNested<Answer extends AcquireAnswer | { granted: true }>(
  stored: StoredClaims,
  decide: Decide<Answer>,
  review: Review<Answer, Refused>,
  nesting: Nesting,
): Steps<unknown, Decided<Answer | Refused>> {
  // What the session had before each attempt: a later one may find the claim of the first.
  const before: (Claim | undefined)[] = []
  let confirmedFence: number | undefined
  for (;;) {
    let isNew = false
    const decided = yield* stored.change<Answer, Refused>((record, observation, fence, tried) => {
      const decision = decide(record, observation, fence, tried)
      const { next, answer } = decision
      if (next === undefined || !('claim' in answer)) return decision
      const { claim } = answer
      const own = record.claims.find(
        (each) => each.session_id === claim.session_id || each.fence === claim.fence,
      )
      // A killed writer has left the claim: look above and below before the session uses it.
      if (own?.unconfirmed && own.fence !== confirmedFence && !isDeserted(own, observation))
        return { answer: { ...answer, claim: own } }
      before.push(own)
      isNew = claim.fence === fence
      if (!isNew) return decision
      const marked: Claim = { ...claim, unconfirmed: true }
      const claims = next.claims.map((each) => (each === claim ? marked : each))
      return { next: { ...next, claims }, answer: { ...answer, claim: marked } }
    }, review)
    const { answer, observation } = decided
    if (!('claim' in answer) || !answer.claim.unconfirmed) return decided
    const { claim } = answer
    let by: Claim | undefined
    let ancestors: string[] | undefined
    let isFree = false
    try {
      ;({ by, ancestors } = yield* removeNested(claim, nesting))
      isFree = by === undefined
    } finally {
      if (!isFree) yield* stored.change((record) => decideWithdraw(record, claim, before[0]))
    }
    // The grant was taken back: for the history, nothing has changed.
    if (by !== undefined) return { ...decided, before: undefined, answer: refusedBy(by, observation) }
    const found = ancestors
    if (found !== undefined) yield* stored.change((record) => decideAncestors(record, claim, found))
    if (isNew) return decided
    confirmedFence = claim.fence
  }
}

/** Looks for a claim in force on a directory above or below that conflicts with a claim here. */
export const findNested = (claim: Claim, nesting: Nesting): Steps<unknown, YieldAnswer> =>
  compareNested(claim, nesting, function* (stored, decide) {
    const { record, observation } = yield* stored.read()
    return decide(record, observation, 0, undefined).answer
  })

/** The same, and removes the stale claims that do. */
export const removeNested = (claim: Claim, nesting: Nesting): Steps<unknown, YieldAnswer> =>
  compareNested(claim, nesting, function* (stored, decide) {
    return (yield* stored.change(decide)).answer
  })

function* compareNested(
  claim: Claim,
  { register, key, path, descent }: Nesting,
  perform: (stored: StoredClaims, decide: Decide<YieldAnswer>) => Steps<unknown, YieldAnswer>,
): Steps<unknown, YieldAnswer> {
  const ancestors = new Set(claim.ancestors)
  const before = lastRead.get(register)
  // A new map at each look forgets the workspaces that were swept.
  const known = new Map<string, RegisterEntry>()
  lastRead.set(register, known)
  for (const other of (yield* register.keys()).filter((each) => isWorkspaceKey(each) && each !== key)) {
    const entry = yield* register.read(other, before?.get(other))
    known.set(other, entry)
    const { text } = entry
    // Most workspaces are free: do not parse their records.
    const record = text === undefined || text.startsWith('free ') ? undefined : parseClaimsRecord(text, '')
    if (record === undefined || record.claims.length === 0) continue
    const paths = pathsFrom(record.workspace, path, claim.paths)
    if (paths === undefined || isRepository(path) || isRepository(record.workspace)) continue
    const stored = new StoredClaims(register, { key: other, name: record.workspace }, livenessFor(register))
    const answer = yield* perform(stored, (record, observation): Decision<YieldAnswer> =>
      decideYield(record, { ...claim, ancestors: [...ancestors], paths }, observation, descent),
    )
    if (answer.by !== undefined) return answer
    for (const each of answer.ancestors ?? []) ancestors.add(each)
  }
  return { ancestors: ancestors.size === (claim.ancestors?.length ?? 0) ? undefined : [...ancestors] }
}

/**
 * Paths in one directory as paths of another that is above or below it; undefined if they do not overlap, or
 * if the other is not a directory but a resource.
 */
function pathsFrom(other: string, path: string, paths: readonly string[]): string[] | undefined {
  if (isWithin(path, other)) {
    const inside = claimPathOf(other, path)
    return paths.map((each) => (each === '**' ? inside : `${inside}/${each}`))
  }
  if (!isWithin(other, path)) return undefined
  const inside = claimPathOf(path, other)
  if (paths.some((each) => covers(each, inside))) return [...wholeWorkspace]
  const below = paths.filter((each) => each.startsWith(`${inside}/`))
  return below.length === 0 ? undefined : below.map((each) => each.slice(inside.length + 1))
}

/** The path of a directory in another one, in the form of claims. */
const claimPathOf = (outer: string, inner: string): string =>
  foldNames(outer, relative(outer, inner).split('/')).join('/')
