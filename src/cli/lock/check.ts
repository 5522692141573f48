import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { needSession, openClaims, holderOption, targetOptions } from './lock-options.ts'

export const lockCheckCommand = defineBareCommand({
  name: 'check',
  summary: 'Does the session hold the workspace? With --fence: has it held it ever since?',
  options: {
    ...targetOptions,
    ...holderOption,
    fence: {
      type: 'string',
      value: 'N',
      help: 'exit 4 if the claim was lost since this fence; a run has it in STINT_FENCE',
    },
  },
  examples: [
    ['stint lock check --session mine --fence "$STINT_FENCE" && deploy', 'only if it was never lost'],
  ],
  async run({ warn }, { options }) {
    const sessionId = needSession(options.session)
    const fence = readFence(options.fence)
    const claims = await openClaims(options, warn)
    const claim = await claims.check(sessionId, fence)
    if (claim === undefined && fence !== undefined) {
      throw new StintError('LOCK_LOST', `${sessionId} no longer holds ${claims.name} with fence ${fence}`, {
        facts: { fence },
      })
    }
    return { held: claim !== undefined, fence: claim?.fence ?? null }
  },
  render: ({ held, fence }) => (held ? `held, fence ${fence}` : 'not held'),
})

function readFence(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new StintError('ARG_ERROR', `--fence takes a whole number, not ${JSON.stringify(text)}`)
}
