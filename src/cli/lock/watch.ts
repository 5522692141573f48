import { defineBareCommand } from '../../command/define-command.ts'
import { visibleJson, visibleText } from '../../base/text/escape.ts'
import { ChangeHints, lookEveryMs } from '../../lease/index.ts'
import { print } from '../terminal/print.ts'
import { openClaims, targetOptions } from './lock-options.ts'
import { type ClaimDescription, describeClaim } from './describe.ts'

export const lockWatchCommand = defineBareCommand({
  name: 'watch',
  summary: 'Prints a line for each change of the claims on this workspace, until it is interrupted.',
  options: targetOptions,
  envelope: 'on-request',
  examples: [
    ['stint lock watch', 'who comes and goes'],
    ['stint lock watch --json', 'one JSON object per line'],
  ],
  stream: true,
  async run({ signal, json, warn }, { options }) {
    const claims = await openClaims(options, warn)
    let hints = new ChangeHints()
    let last = ''
    while (!signal.aborted) {
      // There is no directory to watch before the first claim.
      if (!hints.isWatching) hints = new ChangeHints(claims.register, claims.key)
      const { epoch, record, observation } = await claims.read()
      const described = record.claims.map((claim) => describeClaim(claim, observation))
      const line = json ? visibleJson({ epoch, claims: described.map(stableFields) }) : renderLine(described)
      if (line !== last && !print(`${line}\n`)) break
      last = line
      await hints.next(lookEveryMs)
    }
    hints.stop()
  },
})

const renderLine = (claims: ClaimDescription[]): string =>
  visibleText(claims.map(renderShort).join('; ')) || 'free'

const renderShort = ({ session_id, standing, fence, purpose }: ClaimDescription): string =>
  `${session_id} ${standing} fence=${fence}${purpose === null ? '' : ` ${JSON.stringify(purpose)}`}`

/** The fields that do not change by themselves from one read to the next. */
const stableFields = ({ age_ms: _age, expires_in_ms: _rest, work: _work, ...claim }: ClaimDescription) =>
  claim
