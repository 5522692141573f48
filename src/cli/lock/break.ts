import { userInfo } from 'node:os'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { change, look } from '../../lease/workspace-claims.ts'
import type { Claim, ClaimsRecord } from '../../lease/claim.ts'
import { runAsync } from '../../lease/register.ts'
import { decideBreak } from '../../lease/rules.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { geteuid } from '../../base/process/platform.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { confirm } from '../terminal/confirm.ts'
import { openBook, targetOptions } from './lock-options.ts'
import { describeClaim, renderClaim } from './describe.ts'

const options = {
  ...targetOptions,
  session: { type: 'string', value: 'ID', help: 'the session whose claim is removed' },
  reason: { type: 'string', value: 'TEXT', help: 'why; recorded together with who did it' },
  yes: { type: 'boolean', help: 'do not ask' },
} as const satisfies OptionTable

export const lockBreakCommand = defineBareCommand({
  name: 'break',
  summary:
    "Removes another session's claim, against its will. Its holder finds out at its next refresh or check.",
  options,
  examples: [
    ['stint lock break --session theirs --reason "hung since noon" --yes', 'recorded: see stint lock status'],
  ],
  async run({ warn }, { options }) {
    const sessionId = options.session
    if (sessionId === undefined)
      throw new StintError('ARG_ERROR', 'no session given', { hint: 'Give --session ID.' })
    const book = await openBook(options, warn)
    const { claims, observation } = await runAsync(book.register, look(book))
    const seen = claimOf(claims, sessionId)
    if (seen === undefined)
      throw new StintError('NOT_FOUND', `${sessionId} has no claim on ${book.workspace}`)
    const shown = renderClaim(describeClaim(seen, observation))
    const question = `${shown}\nBreak this claim? Its holder may still be writing.`
    await confirm(options.yes, 'breaking a claim', question)
    const reason =
      options.reason === undefined ? null : registerEnvironmentSecrets().gate.text(options.reason)
    const record = { by: userName(), reason, at: Date.now() }
    const { answer } = await runAsync(
      book.register,
      change(book, (now) => {
        const decision = decideBreak(now, seen, record)
        if (!decision.answer.broken) assertUnchanged(claimOf(now, sessionId), seen)
        return decision
      }),
    )
    return { broken: answer.broken, session_id: sessionId, fence: answer.broken ? seen.fence : null }
  },
  render: ({ broken, session_id }) =>
    broken ? `the claim of ${session_id} is broken` : `${session_id} had let go already`,
})

const claimOf = ({ claims }: ClaimsRecord, sessionId: string): Claim | undefined =>
  claims.find(({ session_id }) => session_id === sessionId)

/** Only what was looked at may be broken: by now it may be a new claim of a session that has come back to life. */
function assertUnchanged(claim: Claim | undefined, seen: Claim): void {
  if (claim === undefined || claim.fence === seen.fence) return
  throw new StintError(
    'LOCK_HELD',
    `${seen.session_id} has a new claim since: fence ${claim.fence}, not ${seen.fence}; nothing was broken`,
    { hint: 'Look at it again with `stint lock status` before you break it.' },
  )
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // Not every user id has a name.
    return `uid ${geteuid()}`
  }
}
