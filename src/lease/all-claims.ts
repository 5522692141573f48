import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { type Claim, type ClaimsRecord, parseClaimsRecord } from './claim.ts'
import { isInForce } from './force.ts'
import type { LeaseStore } from './register.ts'
import { listWaiters } from './waiting.ts'
import { observationIn, type TargetStatus, WorkspaceClaims } from './workspace-claims.ts'
import { overlap } from './rules.ts'
import { isWorkspaceKey, outsideName, wholeTarget } from './workspace.ts'

/** A workspace or resource with a claim in force. */
export interface ClaimedTarget extends TargetStatus {
  key: string
  /** A path, a repository or a resource; outside of repositories, what a claim is on. */
  title: string
}

export interface AllClaims {
  targets: ClaimedTarget[]
  /** Keys whose record is invalid or cannot be read. */
  unreadable: { key: string; reason: string }[]
}

/** The claims of all sessions on everything. A record that cannot be read does not hide the others. */
export async function allClaims(store: LeaseStore): Promise<AllClaims> {
  const all: AllClaims = { targets: [], unreadable: [] }
  const { register, waiters } = store
  const observe = observationIn(store)

  async function readTarget(key: string): Promise<ClaimedTarget[]> {
    const { text, now } = await register.read(key)
    // A writer that failed has made the key, and has not written to it.
    if (text === undefined) return []
    const record = parseClaimsRecord(text)
    if (record === undefined) throw new StintError('UNEXPECTED', 'a record this version cannot read')
    if (record.claims.length === 0) return []
    const title = record.workspace
    const observation = observe(now, wholeTarget(key, title).path)
    const claims = record.claims.filter((claim) => isInForce(claim, observation))
    if (claims.length === 0) return []
    const target = { key, title, claims, waiters: await listWaiters(waiters, key, observation), observation }
    return title === outsideName ? claims.map((claim) => onlyClaim(target, claim)) : [target]
  }

  const keys = await claimsKeys(store)
  const results = await Promise.allSettled(keys.map(readTarget))
  results.forEach((result, index) => {
    if (result.status === 'fulfilled') all.targets.push(...result.value)
    else all.unreadable.push({ key: keys[index] ?? '', reason: reasonOf(result.reason) })
  })
  return all
}

/** Outside of repositories, every claim has a place of its own. */
const onlyClaim = (target: ClaimedTarget, claim: Claim): ClaimedTarget => ({
  ...target,
  title: claim.paths.join(' '),
  claims: [claim],
  waiters: target.waiters.filter((waiter) => overlap(waiter, claim)),
})

/** The keys that have claims. The directory of a register in files may contain other names. */
export const claimsKeys = async ({ register, shared }: LeaseStore): Promise<string[]> =>
  (await register.keys()).filter((key) => shared !== undefined || isWorkspaceKey(key))

const reasonOf = (error: unknown): string =>
  errorCode(error instanceof StintError ? error.cause : error) ?? errorMessage(error)

/**
 * Visits every workspace that has a matching claim: a session may have claims in several of them. A
 * workspace that fails does not keep the others from their visit; the first error is thrown at the end.
 */
export async function forEachClaimed(
  store: LeaseStore,
  matches: (claim: Claim) => boolean,
  visit: (claims: WorkspaceClaims, record: ClaimsRecord) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  for (const key of await claimsKeys(store)) {
    try {
      const { text } = await store.register.read(key)
      const record = text === undefined ? undefined : parseClaimsRecord(text)
      if (record?.claims.some(matches))
        await visit(new WorkspaceClaims(store, wholeTarget(key, record.workspace)), record)
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
