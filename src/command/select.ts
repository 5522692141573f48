import { StintError } from '../primitives/stint-error.ts'
import { closest } from './parse-arguments.ts'
import type { Command, CommandGroup } from './spec.ts'

/** Which command a command line calls, and what is left of the line for it. */
export interface Selection {
  command: Command
  /** As the user would call it: `stint run`. */
  called: string
  argv: readonly string[]
}

export const isGroup = (target: Command | CommandGroup): target is CommandGroup => 'commands' in target

export async function selectCommand(
  target: Command | CommandGroup,
  argv: readonly string[],
): Promise<Selection> {
  if (!isGroup(target)) return { command: target, called: target.name, argv }
  const name = argv[0] ?? ''
  const entry = Object.hasOwn(target.commands, name) ? target.commands[name] : undefined
  if (entry === undefined) throw unknownCommand(target, name)
  return { command: await entry.load(), called: `${target.name} ${name}`, argv: argv.slice(1) }
}

function unknownCommand(group: CommandGroup, name: string): StintError {
  const names = Object.keys(group.commands)
  const near = closest(name, names)
  const message =
    name === '' || name.startsWith('-') ? 'which command?' : `unknown command ${JSON.stringify(name)}`
  return new StintError('ARG_ERROR', message, {
    hint: near === undefined ? `Commands: ${names.join(', ')}.` : `Did you mean ${group.name} ${near}?`,
  })
}
