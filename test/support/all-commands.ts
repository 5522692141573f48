import type { Command, CommandGroup } from '../../src/command/define-command.ts'
import { isGroup, loadEntry } from '../../src/command/invocation.ts'

/** Every command, as a user would call it. */
export async function allCommands(
  target: Command | CommandGroup,
  called: string,
): Promise<[string, Command | CommandGroup][]> {
  if (!isGroup(target)) return [[called, target]]
  const below = await Promise.all(
    Object.entries(target.commands).map(async ([name, entry]) =>
      allCommands(await loadEntry(entry), `${called} ${name}`),
    ),
  )
  return [[called, target], ...below.flat()]
}
