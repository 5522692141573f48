import { basename } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import {
  type Command,
  type CommandEntry,
  type CommandGroup,
  defineBareCommand,
  type OptionSpec,
  type OptionTable,
} from '../../command/define-command.ts'
import { commonOptions, isGroup, loadEntry, optionsOf, takeCommonOptions } from '../../command/invocation.ts'
import { agentPositionals } from '../../hooks/commands/options.ts'
import { agentTitle, hosts, isHostName } from '../../hooks/index.ts'
import { findWorkspace } from '../../lease/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import { claimsIn } from '../health/contents.ts'
import { storeOfEnvironment } from '../store.ts'
import { print } from '../terminal/print.ts'
import { shortPath } from '../text/format.ts'
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

function scriptFor(shellNames: readonly string[]): string {
  if (shellNames.length > 1)
    throw new StintError('ARG_ERROR', `one shell at a time, not ${shellNames.map(quoted).join(' and ')}`, {
      hint: `Write: stint completion ${shellNames.find(isShell) ?? shells[0]}`,
    })
  const [name = basename(process.env.SHELL ?? '')] = shellNames
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
    .toSorted((a, b) => Number(b.title === here) - Number(a.title === here))
    .flatMap(({ title, claims }) =>
      claims.map(({ session_id, origin }) => ({
        text: session_id,
        help: [origin?.agent, shortPath(title)].filter(Boolean).join(' '),
      })),
    )
}

/** A word that can stand at the cursor. */
export interface Candidate {
  text: string
  help: string
}

/** The completion at the cursor: candidates, or names that the shell completes itself. */
export type Completion = { candidates: Candidate[] } | { byShell: 'files' | 'programs' }

/** Returns candidates for a positional or a value, such as session ids; undefined if the shell has them. */
type CandidateSource = (kind: string) => Promise<Candidate[] | undefined>

/** Completes the last word of a command line. */
export async function complete(
  root: CommandGroup,
  words: readonly string[],
  source: CandidateSource,
): Promise<Completion> {
  const typed = words.at(-1) ?? ''
  let target: Command | CommandGroup = root
  let rest = words.slice(0, -1)
  while (isGroup(target)) {
    const [name, ...others]: string[] = takeCommonOptions(rest).rest
    if (name === undefined) break
    rest = others
    if (name === 'help') continue
    const entry: CommandEntry | undefined = Object.hasOwn(target.commands, name)
      ? target.commands[name]
      : undefined
    if (entry === undefined) return { candidates: [] }
    target = await loadEntry(entry)
  }
  if (isGroup(target)) return startingWith(typed, wordsOf(target, typed))
  return await completeCommand(target, rest, typed, source)
}

const wordsOf = ({ commands }: CommandGroup, typed: string): Candidate[] => [
  ...Object.entries(commands).map(([text, { summary = '' }]) => ({ text, help: summary })),
  { text: '--help', help: 'show help' },
  ...(typed.startsWith('-') ? optionNames(commonOptions) : []),
]

async function completeCommand(
  command: Command,
  words: readonly string[],
  lastWord: string,
  source: CandidateSource,
): Promise<Completion> {
  const table = optionsOf(command)
  // Bash splits `--scope=o` into three words. Read them as two: the option and its value.
  const before = words.filter((word) => word !== '=')
  const typed = lastWord === '=' ? '' : lastWord
  const hasPositional = before.some(
    (word, i) => !word.startsWith('-') && optionAwaitingValue(before[i - 1], table) === undefined,
  )
  if (command.stopAtPositional && before.at(-1) === '--' && !hasPositional) return { byShell: 'programs' }
  // After `--`, or after the program, the words are the command line of another program.
  if (before.includes('--') || (command.stopAtPositional && hasPositional)) return { byShell: 'files' }
  const [, name] = /^--([\w-]+)=/.exec(typed) ?? []
  if (name !== undefined) {
    const values = await valuesOf(table[name], source)
    return among(
      values?.map((value) => ({ ...value, text: `--${name}=${value.text}` })),
      typed,
    )
  }
  const awaiting = optionAwaitingValue(before.at(-1), table)
  if (awaiting !== undefined) return among(await valuesOf(awaiting, source), typed)
  if (typed.startsWith('-')) return startingWith(typed, optionNames(table))
  if (command.stopAtPositional) return { byShell: 'programs' }
  if (command.positionals === undefined) return { candidates: [] }
  return among(await source(command.positionals), typed)
}

/** Filters known candidates; without any, the shell completes file names. */
const among = (candidates: readonly Candidate[] | undefined, typed: string): Completion =>
  candidates === undefined ? { byShell: 'files' } : startingWith(typed, candidates)

const startingWith = (typed: string, candidates: readonly Candidate[]): Completion => ({
  candidates: candidates.filter(({ text }) => text.startsWith(typed)),
})

const optionNames = (table: OptionTable): Candidate[] =>
  Object.entries(table).map(([name, { help }]) => ({ text: `--${name}`, help }))

async function valuesOf(
  spec: OptionSpec | undefined,
  source: CandidateSource,
): Promise<Candidate[] | undefined> {
  if (spec === undefined) return undefined
  if (spec.choices !== undefined) return spec.choices.map((text) => ({ text, help: '' }))
  // Numbers cannot be listed, and none of them is a file.
  if (!['string', 'strings'].includes(spec.type)) return []
  return spec.value === undefined ? undefined : await source(spec.value)
}

function optionAwaitingValue(word: string | undefined, table: OptionTable): OptionSpec | undefined {
  const spec = word === undefined ? undefined : specOf(word, table)
  return spec === undefined || spec.type === 'boolean' ? undefined : spec
}

/** The last option in a word: in `-fn`, the value that follows is that of `-n`. */
function specOf(word: string, table: OptionTable): OptionSpec | undefined {
  if (word.startsWith('--')) return table[word.slice(2)]
  const letters = /^-(\w+)$/.exec(word)?.[1] ?? ''
  const specs = [...letters].map((letter) => Object.values(table).find(({ short }) => short === letter))
  return specs.slice(0, -1).every((spec) => spec?.type === 'boolean') ? specs.at(-1) : undefined
}
