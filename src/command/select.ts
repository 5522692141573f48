import { StintError } from '../base/errors/stint-error.ts'
import { findClosest } from './did-you-mean.ts'
import { commonOptions, takeCommonOptions } from './invocation.ts'
import type { Command, CommandEntry, CommandGroup } from './define-command.ts'

/** The command that a command line calls, and its arguments. */
interface Selection {
  target: Command | CommandGroup
  /** The command as the user would call it: `stint run`. */
  called: string
  argv: readonly string[]
  /** Whether help was requested. For a group, false means that no subcommand was given. */
  help: boolean
  /** Whether it was requested with `--all`: of a group with every command in it. */
  all: boolean
}

export const isGroup = (target: Command | CommandGroup): target is CommandGroup => 'commands' in target

/** Follows a command line down to a command. Calls `enter` at each step, so that an error can name it. */
export async function selectCommand(
  target: Command | CommandGroup,
  argv: readonly string[],
  enter: (called: string) => void = () => {},
): Promise<Selection> {
  let selected: Selection = { target, called: target.name, argv, help: false, all: false }
  for (;;) {
    enter(selected.called)
    const { target, called, help, all } = selected
    if (!isGroup(target)) return selected
    // Options before a command are read as if they followed it.
    const { common, rest } = takeCommonOptions(selected.argv)
    const [name, ...others] = withHelpFirst(rest)
    const isNamed = name !== undefined && (isHelp(name) || !name.startsWith('-'))
    if (!isNamed && !help && target.defaultCommand !== undefined) {
      const command = await loadEntry(target.defaultCommand)
      if (name !== undefined && !takesOption(command, name)) throw unknownCommand(target, called, name)
      return { ...selected, target: command }
    }
    if (name === undefined) return selected
    if (isHelp(name)) {
      const about = others.filter((word) => !word.startsWith('-'))
      selected = { target, called, argv: about, help: true, all: others.includes('--all') }
      if (about.length === 0) return selected
      continue
    }
    const entry = Object.hasOwn(target.commands, name) ? target.commands[name] : undefined
    if (entry === undefined) throw unknownCommand(target, called, name)
    selected = {
      target: await loadEntry(entry),
      called: `${called} ${name}`,
      argv: [...common, ...others],
      help,
      all,
    }
  }
}

/** True if this word can be for the command: a parser of its own may take any. */
const takesOption = (command: Command | CommandGroup, word: string): boolean =>
  isGroup(command) ||
  command.options === undefined ||
  Object.entries(command.options).some(
    ([name, { short }]) =>
      word.replace(/=.*/, '') === `--${name}` || (short !== undefined && word.startsWith(`-${short}`)),
  )

/** The command of an entry. */
export const loadEntry = async (entry: CommandEntry): Promise<Command | CommandGroup> =>
  'load' in entry ? await entry.load() : entry

const isHelp = (word: string): boolean => ['--help', '-h', 'help'].includes(word)

/** Reads `--all --help` as `--help --all`. */
function withHelpFirst(argv: readonly string[]): readonly string[] {
  const [first, second = '', ...others] = argv
  return first === '--all' && isHelp(second) ? [second, first, ...others] : argv
}

/** The error of a group that is called without a command. */
export const noCommand = (group: CommandGroup): StintError =>
  new StintError('ARG_ERROR', 'no command given', { hint: listed(group) })

function unknownCommand(group: CommandGroup, called: string, name: string): StintError {
  if (name.startsWith('-')) return unknownGroupOption(group, called, name)
  const near = findClosest(name, Object.keys(group.commands))
  return new StintError('ARG_ERROR', `unknown command ${JSON.stringify(name)}`, {
    hint: near === undefined ? listed(group) : `Did you mean ${called} ${near}?`,
  })
}

function unknownGroupOption(group: CommandGroup, called: string, option: string): StintError {
  const known = ['help', ...(group.version === undefined ? [] : ['version']), ...Object.keys(commonOptions)]
  const near = findClosest(option.replace(/^-+/, ''), known)
  return new StintError('ARG_ERROR', `${called} has no option ${option} of its own`, {
    hint:
      near === undefined
        ? `Options of a command follow it: ${called} <command> ${option}`
        : `Did you mean ${called} --${near}?`,
  })
}

const listed = ({ commands }: CommandGroup): string => `Commands: ${Object.keys(commands).join(', ')}.`
