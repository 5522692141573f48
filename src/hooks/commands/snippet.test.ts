import { expect, test } from 'vitest'
import { blocksOf } from '../../../test/support/doc-blocks.ts'
import { HookUser } from '../../../test/support/hook-user.ts'
import { treeHash } from '../../../test/support/tree-hash.ts'
import { selectCommand } from '../../command/select.ts'
import { onlyReads } from '../reading/only-reads.ts'
import { stintCommands } from '../../cli/stint.ts'
import { agentSnippet } from './snippet.ts'

const quoted = [...agentSnippet.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)

test('the text for agents is printed, and nothing is installed', async () => {
  await using user = new HookUser()
  const before = treeHash(user.user)
  const { code, envelope } = await user.stint(['hook', 'install', '--snippet', '--json'])
  expect(code).toBe(0)
  expect(envelope().data).toEqual({ snippet: agentSnippet })
  expect(treeHash(user.user)).toEqual(before)
  for (const more of ['claude', '--record', '--wait=5s']) {
    const refused = await user.stint(['hook', 'install', '--snippet', more, '--json'])
    expect([refused.code, refused.envelope().error?.code]).toEqual([2, 'ARG_ERROR'])
  }
  expect(treeHash(user.user)).toEqual(before)
})

test('the page of the hooks shows the same text', () => {
  const shown = blocksOf('docs/hooks.md').filter(({ language }) => language === 'md')
  expect(shown.map(({ code }) => code)).toEqual([agentSnippet])
})

test('every command in the text exists, and those that a refused agent shall use pass the hooks', async () => {
  const commands = quoted.filter((text) => text.startsWith('stint '))
  expect(commands.length).toBeGreaterThan(6)
  for (const command of commands)
    await expect(selectCommand(stintCommands, command.split(' ').slice(1)), command).resolves.toBeDefined()
  const reading = ['git status', 'git diff', 'stint lock status', 'stint lock wait --timeout 60s']
  for (const command of [...reading, 'stint sessions list', 'stint sessions tail ID', 'stint lock history']) {
    expect(quoted, command).toContain(command)
    expect(onlyReads(command), command).toBe(true)
  }
})
