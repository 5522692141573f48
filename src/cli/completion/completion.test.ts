import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { stintBin, World } from '../../../test/support/world.ts'
import { type CommandGroup, defineBareCommand } from '../../command/define-command.ts'
import { complete } from './completion.ts'
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
            force: { type: 'boolean', short: 'f', help: 'do it' },
            session: { type: 'string', value: 'ID', help: 'of which' },
            wait: { type: 'duration', value: 'D', help: 'how long' },
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

async function candidatesFor(...words: string[]): Promise<string[] | 'files' | 'programs'> {
  const named = (kind: string) =>
    Promise.resolve(
      kind === 'ID' ? ['ses_1', 'ses_2', 'other'].map((text) => ({ text, help: '' })) : undefined,
    )
  const completion = await complete(tool, words, named)
  return 'byShell' in completion ? completion.byShell : completion.candidates.map(({ text }) => text)
}

test('commands, options, values and ids are completed where they fit', async () => {
  expect(await candidatesFor('')).toEqual(['run', 'show', '--help'])
  expect(await candidatesFor('r')).toEqual(['run'])
  expect(await candidatesFor('run', '--f')).toEqual(['--force'])
  expect(await candidatesFor('run', '--scope', '')).toEqual(['all', 'one'])
  expect(await candidatesFor('run', '--scope=o')).toEqual(['--scope=one'])
  expect(await candidatesFor('show', 'ses')).toEqual(['ses_1', 'ses_2'])
  expect(await candidatesFor('run', '--session', 'ses')).toEqual(['ses_1', 'ses_2'])
  expect(await candidatesFor('run', '--session=o')).toEqual(['--session=other'])
  expect(await candidatesFor('run', '--wait', '')).toEqual([])
})

test('common options and help may precede the command', async () => {
  expect(await candidatesFor('--j')).toEqual(['--json'])
  expect(await candidatesFor('--json', '--timeout', '5s', 's')).toEqual(['show'])
  expect(await candidatesFor('--quiet', 'run', '--f')).toEqual(['--force'])
  expect(await candidatesFor('help', 'sh')).toEqual(['show'])
})

test('the shell completes files, and the arguments of another program', async () => {
  expect(await candidatesFor('run', '-o', '')).toBe('files')
  expect(await candidatesFor('run', '-fo', '')).toBe('files')
  expect(await candidatesFor('run', '-ff', '')).toBe('programs')
  expect(await candidatesFor('run', '--', 'npm', '')).toBe('files')
  expect(await candidatesFor('run', '--force', 'npm', '--')).toBe('files')
  expect(await candidatesFor('show', '--', '')).toBe('files')
})

test('the shell completes the program to run', async () => {
  expect(await candidatesFor('run', '')).toBe('programs')
  expect(await candidatesFor('run', '--force', '--', 'gi')).toBe('programs')
  expect(await candidatesFor('run', '--out', 'x', '--', '')).toBe('programs')
})

test('an unknown command has no completions', async () => {
  expect(await candidatesFor('walk', '')).toEqual([])
})

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

/** The candidates that bash offers for a line, by its own completion. */
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

test('bash completes commands, options and values of the real stint, and offers no files as session ids', () => {
  expect(inBash(['stint', 'swe'])).toEqual(['sweep'])
  expect(inBash(['stint', 'sweep', '--dry'])).toEqual(['--dry-run'])
  expect(inBash(['stint', 'sweep', '--scope', 's'])).toEqual(['sessions'])
  // Bash passes `--scope=s` and `--scope=` as separate words.
  expect(inBash(['stint', 'sweep', '--scope', '=', 's'])).toEqual(['sessions'])
  expect(inBash(['stint', 'sweep', '--scope', '='])).toContain('sessions')
  expect(inBash(['stint', 'sessions', 'show', ''])).toEqual([])
})

test('bash completes agents, the ids of sessions as a value, and programs', async () => {
  expect(inBash(['stint', 'hook', 'install', 'c'])).toEqual(['claude', 'codex', 'cursor', 'copilot'])
  await world.stint(['sessions', 'append', 'mine', '--create', '--type', 'note', '--data', '{}'])
  expect(inBash(['stint', 'run', '--session', ''])).toEqual(['mine'])
  expect(inBash(['stint', 'run', '--session', '=', 'm'])).toEqual(['mine'])
  expect(inBash(['stint', 'run', '--keep', '=', 'on'])).toEqual(['on-failure'])
  expect(inBash(['stint', 'run', '--', 'bas'])).toContain('bash')
  expect(inBash(['stint', 'run', '--', '/bin/ba'])).toEqual([])
})

test('bash completes the sessions that hold claims, where a claim is meant', async () => {
  await world.stint(['sessions', 'append', 'recorded', '--create', '--type', 'note', '--quiet'])
  await world.stint(['lock', 'acquire', '--session', '3f6c-holder', '--resource', 'deploy'])
  for (const command of ['break', 'release', 'status', 'history'])
    expect(inBash(['stint', 'lock', command, '--session', '']), command).toEqual(['3f6c-holder'])
  expect(inBash(['stint', 'sessions', 'show', ''])).toEqual(['recorded'])
})

test('a script that cannot be written is reported as a full disk', async () => {
  const line = `exec "$0" "$1" completion bash >/dev/full`
  const full = await world.start('sh', ['-c', line, process.execPath, stintBin]).finished
  expect(full).toMatchObject({ code: 12, stderr: expect.stringContaining('(DISK_FULL)') })
})

test('more than one shell is refused', async () => {
  const { code, stderr } = await world.stint(['completion', 'bash', 'zsh'])
  expect(stderr).toBe(
    'stint completion: one shell at a time, not "bash" and "zsh" (ARG_ERROR)\n  Write: stint completion bash\n',
  )
  expect(code).toBe(2)
})

test('every script asks stint, and says how to load it', () => {
  for (const [shell, script] of Object.entries(scripts)) {
    expect(script, shell).toContain('stint completion --for -- ')
    expect(script, shell).toContain(`stint completion ${shell}`)
    for (const kind of [':files', ':programs']) expect(script, shell).toContain(`"${kind}"`)
  }
})
