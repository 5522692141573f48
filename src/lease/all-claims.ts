import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { look } from './workspace-claims.ts'
import type { Claim } from './claim.ts'
import { parseClaims } from './claims-text.ts'
import { type Register, runAsync, runSync, type Steps } from './register.ts'
import type { Observation } from './staleness.ts'
import { isWorkspaceKey } from './workspace.ts'

/** A workspace or resource that somebody has a claim on. */
export interface ClaimedTarget {
  key: string
  workspace: string
  claims: Claim[]
  observation: Observation
}

export interface AllClaims {
  targets: ClaimedTarget[]
  /** Keys whose record makes no sense, or may not be read. */
  unreadable: { key: string; reason: string }[]
}

/** Where each costs a way to a server, they go together. */
const atOnce = 32

/** Everybody's claims on everything. What is wrong with one record hides no other. */
export async function allClaims(register: Register): Promise<AllClaims> {
  const all: AllClaims = { targets: [], unreadable: [] }
  const keys = await carryOut(register, register.keys())
  const ours = register.shared === undefined ? keys.filter(isWorkspaceKey) : keys
  for (let from = 0; from < ours.length; from += atOnce) {
    const batch = ours.slice(from, from + atOnce)
    const read = await Promise.allSettled(batch.map((key) => readSubject(register, key)))
    read.forEach((result, at) => {
      if (result.status === 'rejected')
        all.unreadable.push({ key: batch[at] ?? '', reason: reasonOf(result.reason) })
      else if (result.value !== undefined) all.targets.push(result.value)
    })
  }
  return all
}

/** Without waiting where that is possible: for files, the threads that wait take longer to start than the calls take. */
const carryOut = async <Result>(register: Register, steps: Steps<unknown, Result>): Promise<Result> =>
  register.performSync === undefined ? await runAsync(register, steps) : runSync(register, steps)

/** Undefined if nobody has a claim there: then the record does not even say where that is. */
async function readSubject(register: Register, key: string): Promise<ClaimedTarget | undefined> {
  const { text } = await carryOut(register, register.read(key))
  if (text === undefined) return undefined
  const known = parseClaims(text, '')
  if (known === undefined) throw new StintError('UNEXPECTED', 'a record this version cannot read')
  if (known.claims.length === 0) return undefined
  const { workspace } = known
  const { claims, observation } = await carryOut(register, look({ register, key, workspace }))
  return claims.claims.length === 0 ? undefined : { key, workspace, claims: claims.claims, observation }
}

const reasonOf = (error: unknown): string =>
  errorCode(error instanceof StintError ? error.cause : error) ?? errorMessage(error)
