import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/spec.ts'
import { change, look } from '../../lease/book.ts'
import { runAsync } from '../../lease/register.ts'
import { breakClaim } from '../../lease/rules.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { openBook, workspaceOption } from './book.ts'
import { describeClaim, renderClaim } from './describe.ts'

const options = {
  ...workspaceOption,
  session: { type: 'string', value: 'ID', help: 'the session whose claim goes' },
  reason: { type: 'string', value: 'TEXT', help: 'why: recorded with who did it' },
  yes: { type: 'boolean', help: 'do not ask' },
} as const satisfies OptionTable

export const breakCommand = defineBareCommand({
  name: 'break',
  summary:
    "Removes another session's claim, against its will. Its holder learns it at its next refresh or check.",
  options,
  examples: [
    ['stint lock break --session theirs --reason "hung since noon" --yes', 'recorded: see stint lock status'],
  ],
  async run(_, { options }) {
    const sessionId = options.session
    if (sessionId === undefined)
      throw new StintError('ARG_ERROR', 'whose claim?', { hint: 'Give --session ID.' })
    const book = openBook(options.workspace)
    const { claims, witness } = await runAsync(book.register, look(book))
    const claim = claims.claims.find(({ session_id }) => session_id === sessionId)
    if (claim === undefined)
      throw new StintError('NOT_FOUND', `${sessionId} has no claim on ${book.workspace}`)
    if (!options.yes) await confirm(renderClaim(describeClaim(claim, witness)))
    const record = { by: userInfo().username, reason: options.reason ?? null, at: Date.now() }
    const { answer } = await runAsync(
      book.register,
      change(book, (now) => breakClaim(now, sessionId, record)),
    )
    return { broken: answer.broken !== undefined, session_id: sessionId, fence: answer.broken?.fence ?? null }
  },
  render: ({ broken, session_id }) =>
    broken ? `the claim of ${session_id} is broken` : `${session_id} had let go already`,
})

async function confirm(claim: string): Promise<void> {
  if (!process.stdin.isTTY) {
    throw new StintError('ARG_ERROR', 'breaking a claim needs --yes where nobody can be asked')
  }
  const ask = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await ask.question(`${claim}\nBreak this claim? Its holder may still be writing. [y/N] `)
  ask.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new StintError('CANCELLED', 'nothing was broken', { exit: 1 })
}
