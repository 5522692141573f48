import {
  type Claim,
  claimLiveness,
  type ClaimMode,
  forceOf,
  noForce,
  type Observation,
  originText,
  pathsText,
  presentProcess,
  roughDuration,
  type TargetStatus,
  type Waiter,
  workText,
} from '../index.ts'
import { displayWidth, truncate, wrap } from '../../base/text/wrap.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { Screen } from '../../command/context.ts'
import { formatAge } from '../../cli/text/format.ts'

/** A claim in the form that status shows. */
export function describeClaim(claim: Claim, observation: Observation) {
  const force = forceOf(claim, observation) ?? noForce
  const process = presentProcess(claim, force, observation)
  return {
    session_id: claim.session_id,
    parent: claim.ancestors?.[0] ?? null,
    pid: claim.holders[0]?.pid ?? null,
    liveness: claimLiveness(claim, observation),
    /** `leftover`: its turn has ended or its agent has died, and a process of it still runs. */
    state: force.isLeftover ? ('leftover' as const) : ('held' as const),
    acquired_at: claim.acquired_at,
    held_ms: Math.max(0, Math.round(observation.now.wall - claim.acquired_at)),
    expires_in_ms: Math.round(force.leftMs),
    paths: claim.paths,
    mode: claim.mode,
    fence: claim.fence,
    purpose: claim.purpose ?? null,
    origin: claim.origin ?? null,
    work: process
      ? { pid: process.pid, command: process.command, text: workText(claim, force, process, observation) }
      : null,
    holders: claim.holders.map(({ pid }) => pid),
  }
}

/** A waiter in the form that status shows. */
const describeWaiter = (waiter: Waiter, { now }: Observation) => ({
  session_id: waiter.session_id,
  pid: waiter.process.pid,
  since: waiter.since,
  waited_ms: Math.max(0, Math.round(now.wall - waiter.since)),
  paths: waiter.paths,
  mode: waiter.mode,
  origin: waiter.origin ?? null,
})

/** Who holds a workspace or resource, and who waits for it, in the form that status shows. */
export const describeStatus = ({ claims, waiters, observation }: TargetStatus) => ({
  claims: claims.map((claim) => describeClaim(claim, observation)),
  waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
})

export type ClaimDescription = ReturnType<typeof describeClaim>
export type WaiterDescription = ReturnType<typeof describeWaiter>

/** The fields of a workspace that do not change by themselves from one look to the next. */
export const stableWorkspace = <
  Shown extends { claims: readonly ClaimDescription[]; waiters: readonly WaiterDescription[] },
>(
  workspace: Shown,
) => ({
  ...workspace,
  claims: workspace.claims.map(({ held_ms: _held, expires_in_ms: _rest, work, ...claim }) => ({
    ...claim,
    work: work?.pid,
  })),
  waiters: workspace.waiters.map(({ waited_ms: _waited, ...waiter }) => waiter),
})

/** A workspace or resource in the form that status shows. */
export interface TargetDescription {
  workspace?: string
  resource?: string
}

/** What a claim is on; empty if that is all of a resource, or of a place outside of repositories. */
export function whatOf(
  { paths, mode }: { paths: readonly string[]; mode: ClaimMode },
  { workspace, resource }: TargetDescription,
): string {
  const isAll = resource !== undefined || paths.join(' ') === workspace
  if (isAll) return mode === 'shared' ? 'shared' : ''
  return pathsText(paths, mode)
}

/** A line for each waiter, the one that has waited longest first. */
export const renderWaiters = (
  waiters: readonly WaiterDescription[],
  target: TargetDescription,
  columns: number,
): string[] =>
  waiters.flatMap((waiter) => {
    const what = whatOf(waiter, target)
    const waited = `${waiter.session_id} (pid ${waiter.pid}) has waited ${formatAge(waiter.waited_ms)}`
    return block(`${waited}${what && ` for ${what}`}`, columns)
  })

/** A claim in a line; where that is too long, its state and purpose have lines of their own. */
export function renderClaim(
  claim: ClaimDescription,
  target: TargetDescription,
  { columns, verbose }: Pick<Screen, 'columns' | 'verbose'>,
): string[] {
  const below = claim.parent === null ? '' : ` below ${claim.parent}`
  const holder = [`${partyOf(claim)}${below}`, whatOf(claim, target)].filter(Boolean).join('  ')
  const state = `${stateOf(claim)}${verbose ? `, fence ${claim.fence}` : ''}`
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

/** The session and its process. A process that is not known to live is said to be so. */
function partyOf({ session_id, pid, liveness }: ClaimDescription): string {
  if (pid === null) return session_id
  const life = { alive: '', dead: ', dead', unknown: ', not visible from here' }[liveness]
  return `${session_id} (pid ${pid}${life})`
}

/** Since when a claim is held, and what runs. Without a process, only its time ends it. */
function stateOf({ held_ms, work, pid, expires_in_ms }: ClaimDescription): string {
  const end = pid === null ? [`ends in ${roughDuration(expires_in_ms)} unless it is renewed`] : []
  return [`held for ${formatAge(held_ms)}`, ...(work === null ? [] : [work.text]), ...end].join(', ')
}

const indented = (line: string, columns: number): string[] =>
  wrap(visibleText(line), columns - 4).map((row) => `    ${row}`)

/** A line that is indented by two columns, and wrapped to four. */
const block = (line: string, columns: number): string[] =>
  wrap(visibleText(line), columns - 2, 2).map((row) => `  ${row}`)
