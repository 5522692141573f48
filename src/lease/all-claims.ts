import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { type Claim, noClaims, parseClaimsRecord } from './claim-record.ts'
import type { Observation } from './claim-status.ts'
import { isWorkspaceKey } from './lease-target.ts'
import { withMarks } from './marks.ts'
import { type ProcessTable, readProcessTable } from '../base/process/process-table.ts'
import { runAsync, runSync } from '../base/process/run-generator.ts'
import type { Register, Steps } from './register.ts'
import { livenessFor, lookingOnce, observe, sweptUntilKey } from './stored-claims.ts'
import { listWaiters, type Waiter } from './waiters.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** A workspace or resource with at least one claim on it. */
export interface ClaimedTarget {
  key: string
  workspace: string
  claims: Claim[]
  waiters: Waiter[]
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
  // On files, starting the threads of asynchronous calls takes longer than the calls themselves.
  const run = async <Result>(steps: Steps<unknown, Result>): Promise<Result> =>
    register.performSync === undefined ? await runAsync(register, steps) : runSync(register, steps)
  const liveness = lookingOnce(livenessFor(register))
  let table: ProcessTable | undefined
  const processes = (): ProcessTable => (table ??= readProcessTable())

  async function readTarget(key: string): Promise<ClaimedTarget[]> {
    const { text } = await run(register.read(key))
    const record = text === undefined ? noClaims('') : parseClaimsRecord(text, '')
    if (record === undefined) throw new StintError('UNEXPECTED', 'a record this version cannot read')
    const { workspace } = record
    if (record.claims.length === 0) return []
    const observation = { ...observe(await run(register.now(key)), liveness, workspace), processes }
    const { claims } = await run(withMarks(register, key, record, observation.now))
    const waiters = await run(listWaiters(register, key, observation))
    return [{ key, workspace, claims, waiters, observation }]
  }

  const claimed = (await run(register.keys())).filter((key) => isClaimsKey(key, register))
  for (let from = 0; from < claimed.length; from += atOnce) {
    const batch = claimed.slice(from, from + atOnce)
    const results = await Promise.allSettled(batch.map(readTarget))
    results.forEach((result, at) => {
      if (result.status === 'fulfilled') all.targets.push(...result.value)
      else all.unreadable.push({ key: batch[at] ?? '', reason: reasonOf(result.reason) })
    })
  }
  return all
}

/** Whether a key of the register has claims. The directory of a register in files may contain other names. */
export const isClaimsKey = (key: string, { shared }: Register): boolean =>
  shared === undefined ? isWorkspaceKey(key) : key !== sweptUntilKey

const reasonOf = (error: unknown): string =>
  errorCode(error instanceof StintError ? error.cause : error) ?? errorMessage(error)

/**
 * Visits every workspace that has a matching claim: an agent may have gone from one workspace to another. A
 * workspace that fails does not keep the others from their visit; the first error is thrown at the end.
 */
export function forEachClaimedSync(
  register: Register,
  matches: (claim: Claim) => boolean,
  visit: (claims: WorkspaceClaims) => void,
): void {
  const errors: unknown[] = []
  for (const key of runSync(register, register.keys()).filter(isWorkspaceKey)) {
    try {
      const { text } = runSync(register, register.read(key))
      const found = text === undefined ? undefined : parseClaimsRecord(text, '')
      if (found?.claims.some(matches)) visit(new WorkspaceClaims(register, { key, name: found.workspace }))
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
