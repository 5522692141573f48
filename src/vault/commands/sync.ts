import { resolve } from 'node:path'
import { formatBytes } from '../../base/text/size.ts'
import { openProgressBar } from '../../cli/terminal/progress.ts'
import { plural, shortPath } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { changeExclusions, isVaultAgent, openVault, type SyncReport, syncVault } from '../index.ts'
import { agentOption } from './find.ts'

export const vaultSyncCommand = defineBareCommand({
  name: 'sync',
  summary:
    'Copies what is new in the conversations of all agents. What is excluded stays so until it is included.',
  options: {
    ...agentOption,
    exclude: {
      type: 'strings',
      value: 'WHAT',
      help: 'an agent, or a directory whose conversations are not copied from now on',
    },
    include: { type: 'strings', value: 'WHAT', help: 'an agent, directory or AGENT/ID that is copied again' },
  },
  examples: [
    ['stint vault sync', 'everything that is new'],
    ['stint vault sync --exclude ~/private --exclude gemini', 'nothing of these, from now on'],
    ['stint vault sync --include claude/3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b7c', 'one that was removed'],
  ],
  async run({ signal, quiet }, { options: { agent, exclude, include } }) {
    const vault = openVault()
    for (const what of exclude) await changeExclusions(vault, 'add', exclusionOf(what))
    for (const what of include) await changeExclusions(vault, 'remove', exclusionOf(what))
    const progress = await openProgressBar('copying', { signal, quiet })
    try {
      return await syncVault(vault, {
        agents: agent && [agent],
        signal,
        onProgress: (done, total, bytes) => progress?.update({ count: { done, total }, bytes }),
      })
    } finally {
      progress?.clear()
    }
  },
  render: (report) => renderSync(report),
})

/** An agent and a conversation (`claude/3f6c…`) stay as they are; anything else is a directory. */
const exclusionOf = (what: string): string => (isVaultAgent(what.split('/')[0] ?? '') ? what : resolve(what))

const shownPaths = 5

function renderSync(report: SyncReport): string {
  const { conversations, copied, bytes, rewritten, excluded, unread } = report
  const rows = unread.slice(0, shownPaths).map(({ path, error }) => `  ${shortPath(path)} (${error})`)
  return [
    `${plural(conversations, 'conversation')}: ${copied} had something new, ${formatBytes(bytes)} copied`,
    ...(rewritten > 0
      ? [`${plural(rewritten, 'file was', 'files were')} rewritten: the vault has both forms`]
      : []),
    ...(excluded > 0 ? [`${excluded} excluded`] : []),
    ...(unread.length > 0 ? [`${plural(unread.length, 'path')} not read:`, ...rows] : []),
    ...(unread.length > rows.length ? ['  …'] : []),
  ].join('\n')
}
