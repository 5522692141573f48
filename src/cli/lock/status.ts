import { defineBareCommand } from '../../command/define-command.ts'
import { describeTarget, openClaims, targetOptions } from './lock-options.ts'
import { describeClaim, describeWaiter, renderClaim, renderWaiters, targetName } from './describe.ts'

export const lockStatusCommand = defineBareCommand({
  name: 'status',
  summary: 'Who holds this workspace?',
  options: targetOptions,
  examples: [['stint lock status', 'the claims on the workspace you are in']],
  async run({ warn }, { options }) {
    const claims = await openClaims(options, warn)
    const view = await claims.read()
    const { epoch, record, observation } = view
    const waiters = await claims.waiters(view)
    return {
      ...describeTarget(claims),
      epoch,
      claims: record.claims.map((claim) => describeClaim(claim, observation)),
      waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
      breaks: record.breaks,
    }
  },
  render: ({ workspace, resource, claims, waiters }, { columns }) =>
    [
      `${targetName(workspace ?? resource, columns)}${claims.length === 0 ? ' is free' : ''}`,
      ...claims.flatMap((claim) => renderClaim(claim, columns)),
      ...renderWaiters(waiters, columns),
    ].join('\n'),
})
