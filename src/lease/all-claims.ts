import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import type { Claim } from './claim.ts'
import { parseClaims } from './claims-text.ts'
import { asyncRegister, type Register, syncRegister } from './register.ts'
import type { Observation } from './staleness.ts'
import { isWorkspaceKey } from './workspace.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** A workspace or resource with at least one claim on it. */
export interface ClaimedTarget {
  key: string
  workspace: string
  claims: Claim[]
  observation: Observation
}

export interface AllClaims {
  targets: ClaimedTarget[]
  /** Keys whose record is invalid or cannot be read. */
  unreadable: { key: string; reason: string }[]
}

/** How many records are read at once: on a server each read is a round trip. */
const atOnce = 32

/** The claims of all sessions on everything. A record that cannot be read does not hide the others. */
export async function allClaims(register: Register): Promise<AllClaims> {
  const all: AllClaims = { targets: [], unreadable: [] }
  const { keys } = register.performSync === undefined ? asyncRegister(register) : syncRegister(register)
  const known = await keys()
  const claimed = register.shared === undefined ? known.filter(isWorkspaceKey) : known
  for (let from = 0; from < claimed.length; from += atOnce) {
    const batch = claimed.slice(from, from + atOnce)
    const read = await Promise.allSettled(batch.map((key) => readTarget(register, key)))
    read.forEach((result, at) => {
      if (result.status === 'rejected')
        all.unreadable.push({ key: batch[at] ?? '', reason: reasonOf(result.reason) })
      else if (result.value !== undefined) all.targets.push(result.value)
    })
  }
  return all
}

/** Undefined if there is no claim: then the record does not contain the path or name behind the key, either. */
async function readTarget(register: Register, key: string): Promise<ClaimedTarget | undefined> {
  // On files, starting the threads of asynchronous calls takes longer than the calls themselves.
  const isSync = register.performSync !== undefined
  const { text } = isSync ? syncRegister(register).read(key) : await asyncRegister(register).read(key)
  if (text === undefined) return undefined
  const found = parseClaims(text, '')
  if (found === undefined) throw new StintError('UNEXPECTED', 'a record this version cannot read')
  if (found.claims.length === 0) return undefined
  const { workspace } = found
  const target = new WorkspaceClaims(register, { key, name: workspace })
  const { record, observation } = isSync ? target.readSync() : await target.read()
  return record.claims.length === 0 ? undefined : { key, workspace, claims: record.claims, observation }
}

const reasonOf = (error: unknown): string =>
  errorCode(error instanceof StintError ? error.cause : error) ?? errorMessage(error)

/**
 * Visits every workspace that has a matching claim: an agent may have gone from one workspace to another. A workspace
 * that fails does not keep the others from their visit; the first error is thrown at the end.
 */
export function forEachClaimedSync(
  register: Register,
  matches: (claim: Claim) => boolean,
  visit: (claims: WorkspaceClaims) => void,
): void {
  const { keys, read } = syncRegister(register)
  const errors: unknown[] = []
  for (const key of keys().filter(isWorkspaceKey)) {
    try {
      const { text } = read(key)
      const found = text === undefined ? undefined : parseClaims(text, '')
      if (found?.claims.some(matches)) visit(new WorkspaceClaims(register, { key, name: found.workspace }))
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
