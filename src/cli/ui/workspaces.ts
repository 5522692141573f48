import { lstatSync } from 'node:fs'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import {
  allClaims,
  computeWorkspaceHash,
  isClaimsKey,
  type Register,
  WorkspaceClaims,
} from '../../lease/index.ts'
import type { BuiltInStore } from '../../session/index.ts'
import type { WorkspaceList, WorkspaceRow, WorkspaceView } from '../../ui/protocol.ts'
import { describeClaim, describeWaiter } from '../lock/describe.ts'
import type { NowFeed } from './now-feed.ts'
import type { RequestFields } from './request-fields.ts'

/** What all endpoints use. */
export interface UiParts {
  /** The register of the home, where hooks keep their claims, then that of a server if one is named. */
  registers: readonly Register[]
  store: BuiltInStore
  feed: NowFeed
}

/** Opens the claims of a key. It is checked first: in a register of files it becomes a part of a path. */
export async function openKey({ registers, feed }: UiParts, key: string): Promise<WorkspaceClaims> {
  const register = registers.find((each) => isClaimsKey(key, each))
  if (register === undefined)
    throw new StintError('ARG_ERROR', `${visibleText(key, 40)} is not the key of a workspace`)
  return await WorkspaceClaims.ofKey(register, key, feed.activity.nameOf(key) ?? key)
}

/**
 * Lists the workspaces and resources with claims, waiters or a history: first those in use. While a
 * PostgreSQL server cannot be reached, those in files are listed, and why the others are missing.
 */
export async function listWorkspaces(parts: UiParts): Promise<WorkspaceList> {
  const { registers, feed, store } = parts
  const { activity } = feed
  let problem: string | null = null
  const unlessAway = <Row>(rows: Promise<Row[]>): Promise<Row[]> =>
    rows.catch((error: unknown) => {
      if (!errorCode(error)?.startsWith('POSTGRES_')) throw error
      problem = errorMessage(error)
      return []
    })
  for (const { workspace } of await unlessAway(store.list()))
    if (workspace !== undefined) activity.learn(computeWorkspaceHash(workspace), workspace)
  const targetsOf = async (register: Register) => (await allClaims(register)).targets
  const found = await Promise.all(registers.map((register) => unlessAway(targetsOf(register))))
  const rows = new Map<string, WorkspaceRow>()
  for (const [index, targets] of found.entries())
    for (const { key, workspace, claims, waiters } of targets) {
      activity.learn(key, workspace)
      const counts = { claims: claims.length, waiters: waiters.length }
      rows.set(key, { key, name: workspace, store: storeAt(index), ...counts, last_at: null })
    }
  await activity.refresh()
  for (const key of await activity.keys()) {
    const name = activity.nameOf(key)
    if (rows.has(key) || name === undefined || isFile(name)) continue
    rows.set(key, { key, name, store: storeAt(0), claims: 0, waiters: 0, last_at: null })
  }
  const workspaces = [...rows.values()].map((row) => ({
    ...row,
    last_at: activity.lastAt(row.key) ?? feed.serverActivity?.lastAt(row.key) ?? null,
  }))
  const isInUse = ({ claims, waiters }: WorkspaceRow): number => Number(claims + waiters > 0)
  return {
    workspaces: workspaces.sort(
      (a, b) => isInUse(b) - isInUse(a) || (b.last_at ?? 0) - (a.last_at ?? 0) || (a.name < b.name ? -1 : 1),
    ),
    problem,
  }
}

/** A file that was claimed by itself, such as settings that stint has edited, is no place of work. */
const isFile = (name: string): boolean =>
  name.startsWith('/') && ifPossible(() => lstatSync(name).isFile()) === true

const storeAt = (index: number): WorkspaceRow['store'] => (index === 0 ? 'files' : 'postgres')

/** A day: the longest stretch that the page shows at once. */
const usualStretchMs = 24 * 3_600_000

/** One workspace or resource: its claims and waiters now, and what happened there. */
export async function viewWorkspace(parts: UiParts, query: RequestFields): Promise<WorkspaceView> {
  const claims = await openKey(parts, query.need('key'))
  const { key, name, register } = claims
  const view = await claims.read()
  const { record, observation } = view
  const waiters = await claims.waiters(view)
  const to = Math.round(observation.now.wall)
  const from = query.count('from') ?? to - usualStretchMs
  return {
    key,
    name,
    store: storeAt(parts.registers.indexOf(register)),
    from,
    to,
    claims: record.claims.map((claim) => describeClaim(claim, observation)),
    waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
    activities: (await claims.activity.read()).filter(({ at }) => at >= from && at <= to),
  }
}
