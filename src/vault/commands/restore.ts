import { resolve } from 'node:path'
import { formatBytes } from '../../base/text/size.ts'
import { plural, shortPath } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { restoreConversation } from '../index.ts'
import { findConversation, vaultHere } from './find.ts'

export const vaultRestoreCommand = defineBareCommand({
  name: 'restore',
  summary:
    'Puts a conversation back where its agent looks for it, byte by byte, and says how to continue it.',
  options: {
    to: { type: 'string', value: 'DIR', help: 'write its files below this directory instead' },
    replace: { type: 'boolean', help: 'replace the copy that the agent has, which the vault keeps' },
    generation: { type: 'count', value: 'N', help: 'as it was before it was rewritten (the newest)' },
  },
  positionals: 'ID',
  examples: [
    ['stint vault restore 3f6c', 'then continue it with the command that is printed'],
    ['stint vault restore 3f6c --to /tmp/conversation', 'its files, anywhere'],
    ['stint vault restore 3f6c --generation 1 --replace', 'before it was rewritten'],
  ],
  async run(_, { options: { to, replace, generation }, positionals }) {
    const { agent, id } = findConversation(positionals).found
    const options = { to: to === undefined ? undefined : resolve(to), replace, generation }
    return { agent, id, ...(await restoreConversation(vaultHere(), { agent, id }, options)) }
  },
  render({ paths, bytes, resume }) {
    const [main = ''] = paths
    const what = `${plural(paths.length, 'file')}, ${formatBytes(bytes)}: ${shortPath(main)}`
    return resume === null ? what : `${what}\nContinue it with: ${resume}`
  },
})
