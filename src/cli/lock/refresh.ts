import { defineBareCommand } from '../../command/define-command.ts'
import { change } from '../../lease/workspace-claims.ts'
import { runAsync } from '../../lease/register.ts'
import { decideRefresh } from '../../lease/rules.ts'
import { needSession, openBook, sessionOption, targetOptions } from './lock-options.ts'

export const lockRefreshCommand = defineBareCommand({
  name: 'refresh',
  summary: "Extends a session's claim to its full time. Never takes back a claim that was lost.",
  options: { ...targetOptions, ...sessionOption },
  examples: [['stint lock refresh --session mine', 'says refreshed: false if there is nothing to refresh']],
  async run({ warn }, { options }) {
    const sessionId = needSession(options.session)
    const book = await openBook(options, warn)
    const { answer } = await runAsync(
      book.register,
      change(book, (claims, observation) => decideRefresh(claims, { sessionId }, observation)),
    )
    if (answer.claim === undefined) return { refreshed: false }
    return {
      refreshed: true,
      fence: answer.claim.fence,
      expires_at: answer.claim.refreshed_at + answer.claim.ttl_ms,
    }
  },
  render: ({ refreshed }) => (refreshed ? 'refreshed' : 'there is nothing to refresh'),
})
