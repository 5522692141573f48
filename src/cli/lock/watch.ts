import { defineBareCommand } from '../../command/spec.ts'
import { writeOut } from '../../command/write-out.ts'
import { look } from '../../lease/book.ts'
import { runAsync } from '../../lease/register.ts'
import { openBook, workspaceOption } from './book.ts'
import { type ClaimDescription, describeClaim } from './describe.ts'

/** How often to look where nothing tells of a change: a claim can end by time or death alone. */
const lookEveryMs = 500

export const watchCommand = defineBareCommand({
  name: 'watch',
  summary: 'Prints a line for each change of the claims on this workspace, until it is stopped.',
  options: workspaceOption,
  envelope: 'on-request',
  examples: [
    ['stint lock watch', 'who comes and goes'],
    ['stint lock watch --json', 'one JSON object a line'],
  ],
  stream: true,
  async run({ signal, json }, { options }) {
    const book = openBook(options.workspace)
    let last = ''
    while (!signal.aborted) {
      const { epoch, claims, witness } = await runAsync(book.register, look(book))
      const described = claims.claims.map((claim) => describeClaim(claim, witness))
      const line = json ? JSON.stringify({ epoch, claims: described.map(lasting) }) : renderLine(described)
      if (line !== last && !writeOut(1, `${line}\n`)) return
      last = line
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    }
  },
})

const renderLine = (claims: ClaimDescription[]): string =>
  claims
    .map(({ session_id, standing, fence, purpose }) =>
      `${session_id} ${standing} fence=${fence} ${purpose ?? ''}`.trim(),
    )
    .join('; ') || 'free'

/** What does not change by itself with every look. */
const lasting = ({ age_ms: _age, expires_in_ms: _rest, ...claim }: ClaimDescription) => claim
