import { defineBareCommand } from '../../command/define-command.ts'
import { allClaims } from '../../lease/index.ts'
import { openRegister, storeOption } from '../store.ts'
import { describeTarget } from './lock-options.ts'
import { describeClaim, describeWaiter, renderClaim, renderWaiters, targetName } from './describe.ts'

export const lockListCommand = defineBareCommand({
  name: 'list',
  summary: 'All workspaces and resources with claims on them.',
  options: storeOption,
  examples: [['stint lock list --json', 'for scripts']],
  async run({ warn }, { options }) {
    const { targets, unreadable } = await allClaims(await openRegister(options.store, warn))
    return {
      workspaces: targets.map(({ key, workspace, claims, waiters, observation }) => ({
        ...describeTarget({ key, name: workspace }),
        claims: claims.map((claim) => describeClaim(claim, observation)),
        waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
      })),
      unreadable: unreadable.map(({ key, reason }) => ({ workspace_key: key, reason })),
    }
  },
  render: ({ workspaces, unreadable }, { columns }) =>
    [
      ...workspaces.flatMap(({ workspace, resource, claims, waiters }) => [
        targetName(workspace ?? resource, columns),
        ...claims.flatMap((claim) => renderClaim(claim, columns)),
        ...renderWaiters(waiters, columns),
      ]),
      ...unreadable.map(({ workspace_key, reason }) => `${workspace_key} cannot be read: ${reason}`),
    ].join('\n') || 'no claims',
})
