import { systemClock } from '../base/process/clock.ts'
import { ulid } from '../base/text/id.ts'
import { type Identity, type Liveness, ownIdentity } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { StintError } from '../base/errors/stint-error.ts'
import {
  type Claim,
  type ClaimsRecord,
  defaultBusyTtlMs,
  defaultTtlMs,
  noClaims,
  wholeWorkspace,
} from './claim.ts'
import { parseClaims, writeClaims } from './claims-text.ts'
import { nearbyLiveness, recentLiveness } from './recent-liveness.ts'
import type { Now, Register, Steps } from './register.ts'
import type { Decision } from './rules.ts'
import type { Observation } from './staleness.ts'

/** The claims of one workspace, as a register keeps them. */
export interface Book {
  register: Register
  key: string
  /** What the key stands for: the workspace's real path, or a resource's name. */
  workspace: string
  liveness?: (process: Identity) => Liveness
  outlasted?: (claim: Claim) => boolean
}

interface Page {
  epoch: number
  /** As the register has it; undefined if nothing was ever written. */
  text: string | undefined
  claims: ClaimsRecord
  /** When we wrote it ourselves, on the monotonic clock. */
  writtenAt?: number
}

/** The last page of each key that this process has read or written: what has not changed need not be understood again. */
const lastPages = new WeakMap<Register, Map<string, Page>>()

function remember({ register, key }: Book, page: Page): Page {
  const pages = lastPages.get(register) ?? new Map<string, Page>()
  lastPages.set(register, pages)
  pages.set(key, page)
  return page
}

const recall = ({ register, key, workspace }: Book): Page | undefined => {
  const page = lastPages.get(register)?.get(key)
  return page?.claims.workspace === workspace ? page : undefined
}

/** So soon after our own change, chances are that nobody else has come: the next one may go without a read, a swap tells. */
const justNowMs = 2

function writtenJustNow(book: Book): Page | undefined {
  const page = recall(book)
  return page?.writtenAt !== undefined && systemClock.mono() - page.writtenAt < justNowMs ? page : undefined
}

/** What stood in a book at some moment. */
export interface Seen {
  epoch: number
  claims: ClaimsRecord
  observation: Observation
}

export interface Changed<Answer> extends Seen {
  answer: Answer
  /** Before the register's time was asked, on our own monotonic clock. */
  at: number
}

/** How far a fence jumps where epochs may have been lost. */
const generationStep = 2 ** 20

/**
 * Decides about claims. `tried` is the answer of an earlier try whose swap did not say that it won: it was lost, or it was won and overtaken, and
 * is then part of `claims`. So a decision that is made twice must come to the same as once.
 */
export type Decide<Answer> = (
  claims: ClaimsRecord,
  observation: Observation,
  nextFence: number,
  tried: Answer | undefined,
) => Decision<Answer>

/** Reads, decides, and swaps if there is something to write; again until nobody came in between. */
export function* change<Answer>(book: Book, decide: Decide<Answer>): Steps<unknown, Changed<Answer>> {
  let remembered = writtenJustNow(book)
  let tried: Answer | undefined
  for (;;) {
    const at = systemClock.mono()
    const page = remembered ?? (yield* readPage(book))
    const observation = yield* observe(book)
    const claims = dated(page, observation.now)
    const decision = decide(claims, observation, claims.generation * generationStep + page.epoch + 1, tried)
    if (decision.next === undefined) {
      // A refusal must not rest on what we remember.
      if (remembered === undefined)
        return { answer: decision.answer, epoch: page.epoch, claims, observation, at }
    } else {
      const text = writeClaims(decision.next, unlikeAnyOther())
      const epoch = yield* book.register.swap(book.key, page.epoch, text)
      if (epoch !== undefined) {
        remember(book, { epoch, text, claims: decision.next, writtenAt: systemClock.mono() })
        return { answer: decision.answer, epoch, claims: decision.next, observation, at }
      }
      tried = decision.answer
    }
    remembered = undefined
  }
}

let written = 0
/** A process may run this code several times over: in other threads, or another copy of this library. */
const token = ulid().slice(-4).toLowerCase()

/** Names one text: by its writer, and how many it has written. */
function unlikeAnyOther(): { writer: string; count: number } {
  const { pid, started } = ownIdentity()
  written += 1
  return { writer: `${pid.toString(36)}.${(started ?? 0).toString(36)}.${token}`, count: written }
}

/** What stands in the book now, without changing it. */
export function* look(book: Book): Steps<unknown, Seen> {
  const { epoch, claims } = yield* readPage(book)
  return { epoch, claims, observation: yield* observe(book) }
}

function* observe(book: Book): Steps<unknown, Observation> {
  return {
    now: yield* book.register.now(book.key),
    liveness: book.liveness ?? (book.register.shared ? nearbyLiveness : recentLiveness),
    outlasted: book.outlasted,
  }
}

function* readPage(book: Book): Steps<unknown, Page> {
  const known = recall(book)
  const { epoch, text } = yield* book.register.read(book.key, known)
  if (known !== undefined && epoch === known.epoch && text === known.text) return known
  if (text === undefined) return { epoch, text, claims: noClaims(book.workspace) }
  const claims = parseClaims(text, book.workspace)
  if (claims === undefined) return { epoch, text, claims: yield* unreadable(book) }
  if (claims.workspace === book.workspace) return remember(book, { epoch, text, claims })
  const both = `${book.workspace} and ${claims.workspace}`
  throw new StintError('LOCK_KEY_COLLISION', `${both} have the same key ${book.key}`, {
    detail: `key=${book.key} theirs=${claims.workspace}`,
  })
}

/** Enough of the boot id to tell this boot from the last. */
const bootOf = ({ era }: Now): string => era ?? thisMachine().boot.slice(0, 8)

/**
 * The first change after a reboot jumps ahead: unsynced epochs may be lost, and fences must not repeat. By the minute, since even the last jump may be
 * among what was lost.
 */
function dated({ text, claims }: Page, now: Now): ClaimsRecord {
  const boot = bootOf(now)
  if (claims.boot === boot) return claims
  // Nothing was ever written: there is nothing to lose.
  if (text === undefined) return { ...claims, boot }
  return { ...claims, boot, generation: Math.max(claims.generation + 1, minuteOf(now)) }
}

const minuteOf = (now: Now): number => Math.floor(now.wall / 60_000)

/**
 * A text that makes no sense. From before this boot it is what a power loss left, and holds nothing; else it may be a later version's, and
 * stands as long as any claim would, from when it was written. Its generation is lost: the wall clock gives a higher one.
 */
function* unreadable(book: Book): Steps<unknown, ClaimsRecord> {
  const now = yield* book.register.now(book.key)
  const writtenAt = yield* book.register.writtenAt(book.key)
  const empty = { ...noClaims(book.workspace), boot: bootOf(now), generation: minuteOf(now) }
  if (writtenAt === undefined || writtenAt < bootedAt(now)) return empty
  return { ...empty, claims: [unreadableClaim(writtenAt)] }
}

const unreadableSession = '(a record this version cannot read)'

const unreadableClaim = (writtenAt: number): Claim => ({
  session_id: unreadableSession,
  pid: null,
  acquired_at: writtenAt,
  ttl_ms: defaultTtlMs,
  busy_ttl_ms: defaultBusyTtlMs,
  refreshed_at: writtenAt,
  mono: 0,
  clock: '',
  paths: [...wholeWorkspace],
  mode: 'exclusive',
  fence: 0,
  first_fence: 0,
  purpose: null,
  narrowed: false,
  detached: true,
  holders: [],
})

/** Monotonic time counts from the boot (a laptop's sleep is not in it: then this is too late, never too early). */
const bootedAt = (now: Now): number => now.wall - now.mono
