import { StintError } from '../base/errors/stint-error.ts'
import { closest } from './did-you-mean.ts'
import { commonOptions, takeCommonOptions } from './runtime-flags.ts'
import type { Command, CommandGroup } from './define-command.ts'

/** Which command a command line calls, and what is left of the line for it. */
export interface Selection {
  target: Command | CommandGroup
  /** As the user would call it: `stint run`. */
  called: string
  argv: readonly string[]
  /** Is its help wanted? Of a group nothing else can be: without, no command was given. */
  help: boolean
}

export const isGroup = (target: Command | CommandGroup): target is CommandGroup => 'commands' in target

/** `enter` is told of each command on the way, so that an error can be headed with where it was made. */
export async function selectCommand(
  target: Command | CommandGroup,
  argv: readonly string[],
  enter: (called: string) => void = () => {},
): Promise<Selection> {
  let selected: Selection = { target, called: target.name, argv, help: false }
  for (;;) {
    enter(selected.called)
    const { target, called, help } = selected
    if (!isGroup(target)) return selected
    // What stands before a command is as if it stood behind it.
    const { common, rest } = takeCommonOptions(selected.argv)
    const [name, ...others] = rest
    if (name === undefined) return selected
    if (isHelp(name)) {
      const about = others.filter((word) => !word.startsWith('-'))
      selected = { target, called, argv: about, help: true }
      if (about.length === 0) return selected
      continue
    }
    const entry = Object.hasOwn(target.commands, name) ? target.commands[name] : undefined
    if (entry === undefined) throw unknownCommand(target, called, name)
    selected = {
      target: await entry.load(),
      called: `${called} ${name}`,
      argv: [...common, ...others],
      help,
    }
  }
}

const isHelp = (word: string): boolean => ['--help', '-h', 'help'].includes(word)

/** What to say if a group is called, and none of its commands. */
export const noCommand = (group: CommandGroup): StintError =>
  new StintError('ARG_ERROR', 'no command given', { hint: listed(group) })

function unknownCommand(group: CommandGroup, called: string, name: string): StintError {
  if (name.startsWith('-')) return unknownOption(group, called, name)
  const near = closest(name, Object.keys(group.commands))
  return new StintError('ARG_ERROR', `unknown command ${JSON.stringify(name)}`, {
    hint: near === undefined ? listed(group) : `Did you mean ${called} ${near}?`,
  })
}

function unknownOption(group: CommandGroup, called: string, option: string): StintError {
  const known = ['help', ...(group.version === undefined ? [] : ['version']), ...Object.keys(commonOptions)]
  const near = closest(option.replace(/^-+/, ''), known)
  return new StintError('ARG_ERROR', `${called} has no option ${option} of its own`, {
    hint:
      near === undefined
        ? `Options of a command stand behind it: ${called} <command> ${option}`
        : `Did you mean ${called} --${near}?`,
  })
}

const listed = ({ commands }: CommandGroup): string => `Commands: ${Object.keys(commands).join(', ')}.`
