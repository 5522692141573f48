import { defineBareCommand } from '../../command/define-command.ts'
import { needSession, openClaims, holderOption, targetOptions } from './lock-options.ts'

export const lockRefreshCommand = defineBareCommand({
  name: 'refresh',
  summary: "Extends a session's claim to its full time. Never takes back a claim that was lost.",
  options: { ...targetOptions, ...holderOption },
  examples: [['stint lock refresh --session mine', 'says refreshed: false if there is nothing to refresh']],
  async run({ warn }, { options }) {
    const sessionId = needSession(options.session)
    const claims = await openClaims(options, warn)
    const { claim } = (await claims.refresh({ sessionId })).answer
    if (claim === undefined) return { refreshed: false }
    return { refreshed: true, fence: claim.fence, expires_at: claim.refreshed_at + claim.ttl_ms }
  },
  render: ({ refreshed }) => (refreshed ? 'refreshed' : 'there is nothing to refresh'),
})
