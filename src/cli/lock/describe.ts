import {
  ageOf,
  busyWork,
  type Claim,
  claimLiveness,
  claimStatus,
  type ClaimMode,
  type Observation,
  originText,
  remainingMs,
  waitedMsOf,
  type Waiter,
  workText,
} from '../../lease/index.ts'
import { displayWidth, truncate } from '../../base/text/display-width.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import type { Screen } from '../../command/stdio.ts'
import { formatAge, shortPath } from '../text/format.ts'

/** A claim in the form that status shows. */
export const describeClaim = (claim: Claim, observation: Observation) => ({
  session_id: claim.session_id,
  parent: claim.ancestors?.[0] ?? null,
  pid: claim.pid,
  standing: claimStatus(claim, observation),
  liveness: claimLiveness(claim, observation),
  acquired_at: claim.acquired_at,
  age_ms: Math.round(ageOf(claim, observation.now)),
  expires_in_ms: Math.round(remainingMs(claim, observation)),
  paths: claim.paths,
  mode: claim.mode,
  fence: claim.fence,
  purpose: claim.purpose,
  origin: claim.origin ?? null,
  work: describeWork(claim, observation),
  holders: claim.holders.map(({ pid, calls }) => ({ pid, calls: calls.length })),
})

/** What keeps a claim busy; null if nothing does. */
function describeWork(claim: Claim, observation: Observation) {
  const work = busyWork(claim, observation)
  if (work === undefined) return null
  const { state, call, process, since } = work
  return {
    state,
    kind: call?.kind ?? null,
    name: call?.name ?? process?.name ?? null,
    pid: process?.pid ?? null,
    since,
    text: workText(work, observation.now),
  }
}

/** A waiter in the form that status shows. */
export const describeWaiter = (waiter: Waiter, observation: Observation) => ({
  session_id: waiter.session_id,
  pid: waiter.process.pid,
  since: waiter.since,
  waited_ms: waitedMsOf(waiter, observation),
  paths: waiter.paths,
  mode: waiter.mode,
  origin: waiter.origin ?? null,
})

export type ClaimDescription = ReturnType<typeof describeClaim>
export type WaiterDescription = ReturnType<typeof describeWaiter>

/** A claim that is not held is that of a dead session, or has expired: the next session gets it. */
export const isHeld = ({ standing }: ClaimDescription): boolean => standing === 'busy' || standing === 'fresh'

/** The fields of a workspace that do not change by themselves from one look to the next. */
export const stableWorkspace = <
  Shown extends { claims: readonly ClaimDescription[]; waiters: readonly WaiterDescription[] },
>(
  workspace: Shown,
) => ({
  ...workspace,
  claims: workspace.claims.map(({ age_ms: _age, expires_in_ms: _rest, work, ...claim }) => ({
    ...claim,
    work: work?.state,
  })),
  waiters: workspace.waiters.map(({ waited_ms: _waited, ...waiter }) => waiter),
})

/** A line for each waiter, the first in line first. */
export const renderWaiters = (waiters: readonly WaiterDescription[], columns: number): string[] =>
  waiters.flatMap(({ session_id, pid, waited_ms, paths, mode }) =>
    block(
      `${session_id} (pid ${pid}) has waited ${formatAge(waited_ms)} for ${renderPaths(paths, mode)}`,
      columns,
    ),
  )

export function renderPaths(paths: readonly string[], mode: ClaimMode): string {
  const what = paths.join(' ') === '**' ? 'all of it' : paths.join(' ')
  return mode === 'shared' ? `${what}, shared` : what
}

/** A claim in a line; where that is too long, its state and purpose have lines of their own. */
export function renderClaim(
  claim: ClaimDescription,
  { columns, verbose }: Pick<Screen, 'columns' | 'verbose'>,
): string[] {
  const who =
    claim.pid === null ? claim.session_id : `${claim.session_id} (pid ${claim.pid}, ${claim.liveness})`
  const below = claim.parent === null ? '' : ` below ${claim.parent}`
  const what = renderPaths(claim.paths, claim.mode)
  const age = formatAge(claim.age_ms)
  const busy = claim.work === null ? '' : ` (${claim.work.text})`
  const holder = `${who}${below}  ${what}`
  const fence = verbose ? `, fence ${claim.fence}` : ''
  const state = `${claim.standing}${busy}, refreshed ${age} ago${fence}`
  const purpose = claim.purpose === null ? [] : [JSON.stringify(claim.purpose)]
  const origin = originText(claim.origin ?? undefined)
  const whole = visibleText(`  ${[holder, state, ...purpose].join('  ')}`)
  const hasRoom = displayWidth(whole) <= columns
  const details = [...(hasRoom ? [] : purpose), ...(origin === '' ? [] : [origin])]
  return [
    ...(hasRoom ? [whole] : [...block(holder, columns), ...indented(state, columns)]),
    ...details.map((text) => truncate(`    ${visibleText(text)}`, columns)),
  ]
}

const indented = (line: string, columns: number): string[] =>
  wrap(visibleText(line), columns - 4).map((each) => `    ${each}`)

/** A line that is indented by two columns, and wrapped to four. */
const block = (line: string, columns: number): string[] =>
  wrap(visibleText(line), columns - 2, 2).map((each) => `  ${each}`)

/** The name of a workspace or resource as a title, with room for what follows it. */
export const targetName = (name: string, columns: number): string =>
  truncate(visibleText(shortPath(name)), Math.max(20, columns - 10), 'middle')
