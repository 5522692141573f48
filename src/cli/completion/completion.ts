import { basename } from 'node:path'
import { defineBareCommand } from '../../command/define-command.ts'
import { agentTitle, hosts, isHostName } from '../../hooks/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { agentPositionals } from '../../hooks/commands/options.ts'
import { stintHome } from '../../base/fs/home.ts'
import { findWorkspace } from '../../lease/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import { storeOfEnvironment } from '../store.ts'
import { claimsIn } from '../health/contents.ts'
import { shortPath } from '../text/format.ts'
import { print } from '../terminal/print.ts'
import { type Candidate, complete } from './candidates.ts'
import { isShell, scripts, shells } from './scripts.ts'

export const completionCommand = defineBareCommand({
  name: 'completion',
  summary:
    'Completion for bash, zsh and fish: commands, options, agents, sessions, and the holders of claims.',
  positionals: '[bash|zsh|fish] [WORD…]',
  stream: true,
  options: {
    for: { type: 'boolean', help: 'list what can follow these words (used by the scripts)' },
  },
  examples: [
    ['eval "$(stint completion bash)"', 'in ~/.bashrc'],
    ['eval "$(stint completion zsh)"', 'in ~/.zshrc, after compinit'],
    ['stint completion fish | source', 'in ~/.config/fish/config.fish'],
  ],
  async run(_, { options, positionals }) {
    print(options.for ? await listCandidates(positionals) : scriptFor(positionals))
  },
})

function scriptFor(given: readonly string[]): string {
  if (given.length > 1)
    throw new StintError('ARG_ERROR', `one shell at a time, not ${given.map(quoted).join(' and ')}`, {
      hint: `Write: stint completion ${given.find(isShell) ?? shells[0]}`,
    })
  const [name = basename(process.env.SHELL ?? '')] = given
  if (isShell(name)) return scripts[name]
  throw new StintError('ARG_ERROR', name === '' ? 'no shell given' : `no completion for ${quoted(name)}`, {
    hint: `Shells: ${shells.join(', ')}.`,
  })
}

const quoted = (text: string): string => JSON.stringify(text)

/** Lists what can follow these words: a line each, or one line that leaves it to the shell. */
async function listCandidates(words: readonly string[]): Promise<string> {
  const { stintCommands } = await import('../stint.ts')
  const completion = await complete(stintCommands, words, candidatesFor)
  if ('byShell' in completion) return `:${completion.byShell}\n`
  return completion.candidates.map(({ text, help }) => `${text}\t${oneLine(help)}\n`).join('')
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ')

/** The candidates for a placeholder of a positional or a value; undefined if the shell completes it. */
async function candidatesFor(kind: string): Promise<Candidate[] | undefined> {
  const [choices] = /\w+(?:\|\w+)+/.exec(kind) ?? []
  if (choices !== undefined)
    return choices.split('|').map((text) => ({ text, help: isHostName(text) ? agentTitle(text) : '' }))
  if (kind === agentPositionals)
    return Object.values(hosts).map(({ name, title }) => ({ text: name, help: title }))
  const find = kind === 'HOLDER' ? findHolders : /\bID\b/.test(kind) ? findSessions : undefined
  if (find === undefined) return undefined
  try {
    // A key press must not wait for a server that is slow or unreachable.
    return storeOfEnvironment() === undefined ? await find(stintHome()) : []
  } catch {
    return []
  }
}

/** How many of the newest sessions are offered. */
const maxSessions = 200

const findSessions = async (home: string): Promise<Candidate[]> =>
  (await listSessionsIn(home, { newest: maxSessions })).map(({ id, state, title, tool }) => ({
    text: id,
    help: [state, title ?? tool].join(' '),
  }))

/** The sessions that hold claims, those on this workspace first. */
async function findHolders(home: string): Promise<Candidate[]> {
  const here = findWorkspace().path
  const { targets } = await claimsIn(home)
  return targets
    .toSorted((a, b) => Number(b.workspace === here) - Number(a.workspace === here))
    .flatMap(({ workspace, claims }) =>
      claims.map(({ session_id, origin }) => ({
        text: session_id,
        help: [origin?.agent, shortPath(workspace)].filter(Boolean).join(' '),
      })),
    )
}
