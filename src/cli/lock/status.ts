import { defineBareCommand } from '../../command/define-command.ts'
import { look } from '../../lease/workspace-claims.ts'
import { runAsync } from '../../lease/register.ts'
import { visibleText } from '../../base/text/escape.ts'
import { lineLength } from '../text/cell.ts'
import { describeTarget, openBook, targetOptions } from './lock-options.ts'
import { describeClaim, renderClaim } from './describe.ts'

export const lockStatusCommand = defineBareCommand({
  name: 'status',
  summary: 'Who holds this workspace?',
  options: targetOptions,
  examples: [['stint lock status', 'the claims on the workspace you are in']],
  async run({ warn }, { options }) {
    const book = await openBook(options, warn)
    const { epoch, claims, observation } = await runAsync(book.register, look(book))
    return {
      ...describeTarget(book.key, book.workspace),
      epoch,
      claims: claims.claims.map((claim) => describeClaim(claim, observation)),
      breaks: claims.breaks,
    }
  },
  render: ({ workspace, resource, claims }) =>
    [
      `${visibleText(workspace ?? resource, lineLength)}${claims.length === 0 ? ' is free' : ''}`,
      ...claims.map(renderClaim),
    ].join('\n'),
})
