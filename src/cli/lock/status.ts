import { defineBareCommand } from '../../command/spec.ts'
import { look } from '../../lease/book.ts'
import { runAsync } from '../../lease/register.ts'
import { visibleText } from '../../primitives/visible-text.ts'
import { openBook, workspaceOption } from './book.ts'
import { describeClaim, lineLength, renderClaim } from './describe.ts'

export const statusCommand = defineBareCommand({
  name: 'status',
  summary: 'Who holds this workspace?',
  options: workspaceOption,
  examples: [['stint lock status', 'the claims on the workspace you are in']],
  async run(_, { options }) {
    const book = openBook(options.workspace)
    const { epoch, claims, witness } = await runAsync(book.register, look(book))
    return {
      workspace: book.workspace,
      workspace_key: book.key,
      epoch,
      claims: claims.claims.map((claim) => describeClaim(claim, witness)),
      breaks: claims.breaks,
    }
  },
  render: ({ workspace, claims }) =>
    [
      `${visibleText(workspace, lineLength)}${claims.length === 0 ? ' is free' : ''}`,
      ...claims.map(renderClaim),
    ].join('\n'),
})
