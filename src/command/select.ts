import { StintError } from '../primitives/stint-error.ts'
import { closest } from './closest.ts'
import type { Command, CommandGroup } from './spec.ts'

/** Which command a command line calls, and what is left of the line for it. */
export interface Selection {
  /** A group only if its help is wanted. */
  target: Command | CommandGroup
  /** As the user would call it: `stint run`. */
  called: string
  argv: readonly string[]
}

export const isGroup = (target: Command | CommandGroup): target is CommandGroup => 'commands' in target

export async function selectCommand(
  target: Command | CommandGroup,
  argv: readonly string[],
  called: string = target.name,
): Promise<Selection> {
  const [name = ''] = argv
  if (!isGroup(target) || ['--help', '-h', 'help'].includes(name)) return { target, called, argv }
  const entry = Object.hasOwn(target.commands, name) ? target.commands[name] : undefined
  if (entry === undefined) throw unknownCommand(target, called, name)
  return await selectCommand(await entry.load(), argv.slice(1), `${called} ${name}`)
}

function unknownCommand(group: CommandGroup, called: string, name: string): StintError {
  const names = Object.keys(group.commands)
  const near = closest(name, names)
  const message = name.startsWith('-')
    ? `a command of ${called} must come before ${name}`
    : `unknown command ${JSON.stringify(name)}`
  return new StintError('ARG_ERROR', name === '' ? 'no command given' : message, {
    hint: near === undefined ? `Commands: ${names.join(', ')}.` : `Did you mean ${called} ${near}?`,
  })
}
