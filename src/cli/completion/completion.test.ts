import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World, stintBin } from '../../../test/support/world.ts'
import type { CommandGroup } from '../../command/spec.ts'
import { defineBareCommand } from '../../command/spec.ts'
import { complete } from './candidates.ts'
import { scripts } from './scripts.ts'

const tool: CommandGroup = {
  name: 'tool',
  commands: {
    run: {
      summary: 'run something',
      load: async () =>
        defineBareCommand({
          name: 'run',
          positionals: 'PROGRAM',
          stopAtPositional: true,
          options: {
            scope: { type: 'string', choices: ['all', 'one'], help: 'how much' },
            out: { type: 'string', short: 'o', help: 'where to' },
            force: { type: 'boolean', help: 'do it' },
          },
          run: () => undefined,
        }),
    },
    show: {
      summary: 'show one',
      load: async () => defineBareCommand({ name: 'show', positionals: 'ID', run: () => undefined }),
    },
  },
}

async function candidatesFor(...words: string[]): Promise<string[] | 'files'> {
  const named = (kind: string) =>
    Promise.resolve(
      kind === 'ID' ? ['ses_1', 'ses_2', 'other'].map((text) => ({ text, help: '' })) : undefined,
    )
  const completion = await complete(tool, words, named)
  return 'files' in completion ? 'files' : completion.candidates.map(({ text }) => text)
}

test('commands, options, values and names are completed where they can stand', async () => {
  expect(await candidatesFor('')).toEqual(['run', 'show', '--help'])
  expect(await candidatesFor('r')).toEqual(['run'])
  expect(await candidatesFor('run', '--f')).toEqual(['--force'])
  expect(await candidatesFor('run', '--scope', '')).toEqual(['all', 'one'])
  expect(await candidatesFor('run', '--scope=o')).toEqual(['--scope=one'])
  expect(await candidatesFor('show', 'ses')).toEqual(['ses_1', 'ses_2'])
})

test('where a file or somebody else’s command line stands, the shell completes itself', async () => {
  expect(await candidatesFor('run', '-o', '')).toBe('files')
  expect(await candidatesFor('run', '--', 'npm', '')).toBe('files')
  expect(await candidatesFor('run', '--force', 'npm', '--')).toBe('files')
  expect(await candidatesFor('run', '')).toBe('files')
})

test('nothing is made up after a command that there is not', async () => {
  expect(await candidatesFor('walk', '')).toEqual([])
})

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

/** What bash offers for a line, by its own completion machinery. */
function inBash(words: readonly string[]): string[] {
  const link = join(world.tmp, 'stint')
  if (!existsSync(link)) symlinkSync(stintBin, link)
  const script = `
    eval "$(stint completion bash)"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _stint
    printf '%s\\n' "\${COMPREPLY[@]}"
  `
  const path = `${world.tmp}:${dirname(process.execPath)}:${process.env.PATH}`
  const output = execFileSync('bash', ['-ec', script, 'bash', ...words], {
    env: { ...world.env, PATH: path },
    encoding: 'utf8',
  })
  return output.split('\n').filter((line) => line !== '')
}

test('bash completes a command, an option and its value of the real stint; ids, where there are none, are not files', () => {
  expect(inBash(['stint', 'swe'])).toEqual(['sweep'])
  expect(inBash(['stint', 'sweep', '--dry'])).toEqual(['--dry-run'])
  expect(inBash(['stint', 'sweep', '--scope', 'o'])).toEqual(['outputs'])
  // So bash hands over `--scope=o`, and `--scope=`.
  expect(inBash(['stint', 'sweep', '--scope', '=', 'o'])).toEqual(['outputs'])
  expect(inBash(['stint', 'sweep', '--scope', '='])).toContain('outputs')
  expect(inBash(['stint', 'sessions', 'show', ''])).toEqual([])
})

test('every script asks stint itself, and says how it is loaded', () => {
  for (const [shell, script] of Object.entries(scripts)) {
    expect(script, shell).toContain('stint completion --for -- ')
    expect(script, shell).toContain(`stint completion ${shell}`)
  }
})
