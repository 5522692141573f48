import { basename } from 'node:path'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/spec.ts'
import { writeOut } from '../../command/write-out.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { storeOfEnvironment } from '../store.ts'
import { type Candidate, complete } from './candidates.ts'
import { isShell, scripts, shells } from './scripts.ts'

const options = {
  for: { type: 'boolean', help: 'list what can follow these words (used by the scripts)' },
} as const satisfies OptionTable

export const completionCommand = defineBareCommand({
  name: 'completion',
  summary: 'Completion for bash, zsh and fish: commands, options, and the ids of your sessions.',
  positionals: '[bash|zsh|fish]',
  stream: true,
  options,
  examples: [
    ['eval "$(stint completion bash)"', 'in ~/.bashrc'],
    ['eval "$(stint completion zsh)"', 'in ~/.zshrc, after compinit'],
    ['stint completion fish | source', 'in ~/.config/fish/config.fish'],
  ],
  async run(_, { options, positionals }) {
    writeOut(1, options.for ? await answer(positionals) : scriptFor(positionals))
  },
})

function scriptFor([name = basename(process.env.SHELL ?? ''), extra]: readonly string[]): string {
  if (isShell(name) && extra === undefined) return scripts[name]
  const which = extra === undefined ? name : extra
  throw new StintError(
    'ARG_ERROR',
    which === '' ? 'no shell given' : `no completion for ${JSON.stringify(which)}`,
    {
      hint: `Shells: ${shells.join(', ')}.`,
    },
  )
}

async function answer(words: readonly string[]): Promise<string> {
  const { stint } = await import('../stint.ts')
  const completion = await complete(stint, words, named)
  if ('files' in completion) return ':files\n'
  return completion.candidates.map(({ text, help }) => `${text}\t${oneLine(help)}\n`).join('')
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

/** The things that a positional names; undefined if it is not known to name anything. */
async function named(positionals: string): Promise<Candidate[] | undefined> {
  if (positionals.includes('bash|zsh|fish')) return shells.map((text) => ({ text, help: '' }))
  if (!/\bID\b/.test(positionals)) return undefined
  try {
    // A server may be far away, or not there: nobody who presses a key should wait for that.
    if (storeOfEnvironment() !== undefined) return []
    const { filesystemStore } = await import('../../store/filesystem/store.ts')
    const sessions = await filesystemStore().list()
    return sessions.map(({ id, state, title, tool }) => ({
      text: id,
      help: [state, title ?? tool].join(' '),
    }))
  } catch {
    return []
  }
}
