import { StintError } from '../../base/errors/stint-error.ts'
import { truncate } from '../../base/text/wrap.ts'
import { visibleText } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import type { Screen } from '../../command/context.ts'
import { allClaims, type WorkspaceClaims } from '../index.ts'
import { readWatch, watchOptions } from '../../cli/terminal/watch-screen.ts'
import { openLeases } from '../../cli/store.ts'
import { shortPath } from '../../cli/text/format.ts'
import {
  type ClaimDescription,
  describeStatus,
  renderClaim,
  renderWaiters,
  stableWorkspace,
  type TargetDescription,
  type WaiterDescription,
} from './describe.ts'
import { describeTarget, openClaims, readSession, type TargetChoice, targetOptions } from './lock-options.ts'

export const lockStatusCommand = defineBareCommand({
  name: 'status',
  summary:
    'Shows who holds this workspace, and exits with 0 whether it is held or free. Scripts that wait for it use `stint lock wait`.',
  options: {
    ...targetOptions,
    all: { type: 'boolean', help: 'every workspace and resource that has a claim' },
    ...watchOptions,
    session: { type: 'string', value: 'HOLDER', help: 'exit 4 unless this session holds it' },
    fence: {
      type: 'string',
      value: 'N',
      help: 'exit 4 if the session has lost its claim since it got this number; a run has it in STINT_FENCE',
    },
  },
  examples: [
    ['stint lock status', 'the claims on the workspace you are in'],
    ['stint lock status --all --watch', 'on all workspaces, kept up to date until Ctrl-C'],
    ['stint lock status --watch --json', 'one JSON object for each change'],
    ['stint lock wait --timeout 0s && deploy', 'exit 0 if no other session holds it, 4 if one does'],
    ['stint lock status --fence "$STINT_FENCE" && deploy', 'only if your claim was never lost'],
  ],
  stream: ({ options }) => options.watch,
  async run(context, { options }): Promise<LockStatus | AllStatus | undefined> {
    const intervalMs = readWatch(options)
    const { session, fence } = options
    if (session !== undefined || fence !== undefined) {
      if (options.all || options.watch)
        throw new StintError('ARG_ERROR', '--session and --fence exclude --all and --watch')
      return await checkedStatus(await openClaims(options, context.warn), session, readFence(fence))
    }
    const claims = options.all ? undefined : await openClaims(options, context.warn)
    const look = claims ? () => statusOf(claims) : await everyWorkspace(options, context.warn)
    if (intervalMs === undefined) return await look()
    const { watchScreen } = await import('../../cli/terminal/watch-screen.ts')
    const render = (data: LockStatus | AllStatus, screen: Screen) => ({ body: renderLines(data, screen) })
    const watched = { called: 'stint lock status', look, render, stableFields }
    await watchScreen(context, intervalMs, watched)
    return undefined
  },
  render: (data, screen) => (data === undefined ? '' : renderLines(data, screen).join('\n')),
})

type LockStatus = Awaited<ReturnType<typeof statusOf>>
type AllStatus = Awaited<ReturnType<Awaited<ReturnType<typeof everyWorkspace>>>>

async function statusOf(claims: WorkspaceClaims) {
  const status = await claims.status()
  const { epoch, record } = status
  return { ...describeTarget(claims), epoch, ...describeStatus(status), breaks: record.breaks }
}

async function everyWorkspace({ workspace, resource, store }: TargetChoice, warn: (message: string) => void) {
  if (workspace !== undefined || resource !== undefined)
    throw new StintError('ARG_ERROR', '--all excludes --workspace and --resource')
  const leases = await openLeases(store, warn)
  return async () => {
    const { targets, unreadable } = await allClaims(leases)
    return {
      workspaces: targets.map((target) => ({ ...describeTarget(target), ...describeStatus(target) })),
      unreadable: unreadable.map(({ key, reason }) => ({ workspace_key: key, reason })),
    }
  }
}

/** The status of a workspace that a session holds; `LOCK_LOST` if it does not, or not ever since `fence`. */
async function checkedStatus(
  claims: WorkspaceClaims,
  session: string | undefined,
  fence: number | undefined,
): Promise<LockStatus> {
  const sessionId = readSession(session)
  if (sessionId === undefined)
    throw new StintError('ARG_ERROR', 'no session given', {
      hint: 'Give it with --session ID, or in STINT_SESSION_ID.',
    })
  if ((await claims.check(sessionId, fence)) !== undefined) return await statusOf(claims)
  const since = fence === undefined ? 'does not hold' : 'has lost its claim on'
  throw new StintError('LOCK_LOST', `${sessionId} ${since} ${claims.title}`, { facts: { fence } })
}

function readFence(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new StintError('ARG_ERROR', `--fence takes a whole number, not ${JSON.stringify(text)}`)
}

const stableFields = (data: LockStatus | AllStatus): unknown =>
  'workspaces' in data ? { ...data, workspaces: data.workspaces.map(stableWorkspace) } : stableWorkspace(data)

function renderLines(data: LockStatus | AllStatus, screen: Screen): string[] {
  if (!('workspaces' in data)) return renderTarget(data, screen)
  const lines = [
    ...data.workspaces.flatMap((target) => renderTarget(target, screen)),
    ...data.unreadable.map(({ workspace_key, reason }) => `${workspace_key} cannot be read: ${reason}`),
  ]
  return lines.length === 0 ? ['no claims'] : lines
}

/** A workspace or resource, its claims and its waiters, in lines. */
export function renderTarget(
  {
    claims,
    waiters,
    ...target
  }: TargetDescription & { claims: readonly ClaimDescription[]; waiters: readonly WaiterDescription[] },
  screen: Pick<Screen, 'columns' | 'verbose'>,
): string[] {
  const name = visibleText(shortPath(target.workspace ?? target.resource ?? ''))
  return [
    `${truncate(name, Math.max(20, screen.columns - 10), 'middle')}${claims.length === 0 ? ' is free' : ''}`,
    ...claims.flatMap((claim) => renderClaim(claim, target, screen)),
    ...renderWaiters(waiters, target, screen.columns),
  ]
}
