import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { userName } from '../../base/process/origin.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { confirm } from '../terminal/confirm.ts'
import { openClaims, targetOptions } from './lock-options.ts'
import { describeClaim, renderClaim } from './describe.ts'

export const lockBreakCommand = defineBareCommand({
  name: 'break',
  summary:
    "Removes another session's claim against its will. The holder notices at its next refresh or check.",
  options: {
    ...targetOptions,
    session: { type: 'string', value: 'ID', help: 'the session whose claim is removed' },
    reason: { type: 'string', value: 'TEXT', help: 'why; recorded together with who did it' },
    yes: { type: 'boolean', help: 'do not ask' },
  },
  examples: [
    ['stint lock break --session theirs --reason "hung since noon" --yes', 'recorded: see stint lock status'],
  ],
  async run({ warn }, { options }) {
    const sessionId = options.session
    if (sessionId === undefined)
      throw new StintError('ARG_ERROR', 'no session given', { hint: 'Give --session ID.' })
    const claims = await openClaims(options, warn)
    const { record, observation } = await claims.read()
    const seen = record.claims.find(({ session_id }) => session_id === sessionId)
    if (seen === undefined) throw new StintError('NOT_FOUND', `${sessionId} has no claim on ${claims.name}`)
    const shown = renderClaim(describeClaim(seen, observation))
    const question = `${shown}\nBreak this claim? Its holder may still be writing.`
    await confirm(options.yes, 'breaking a claim', question)
    const reason =
      options.reason === undefined ? null : registerEnvironmentSecrets().gate.text(options.reason)
    const { broken, newer } = await claims.break(seen, { by: userName(), reason, at: Date.now() })
    await claims.activity.written()
    // Only the claim that was shown may be broken, not a newer one of a session that has come back to life.
    if (newer !== undefined)
      throw new StintError(
        'LOCK_HELD',
        `${sessionId} has a new claim since: fence ${newer.fence}, not ${seen.fence}; nothing was broken`,
        { hint: 'Look at the new claim with `stint lock status` before you break it.' },
      )
    return { broken, session_id: sessionId, fence: broken ? seen.fence : null }
  },
  render: ({ broken, session_id }) =>
    broken ? `the claim of ${session_id} is broken` : `${session_id} had released it already`,
})
