import { basename, isAbsolute } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { isString } from '../../base/text/fields.ts'
import { objectOr } from '../../hooks/install/json/parse.ts'

/** The name of stint's server in the settings of agents. */
export const serverName = 'stint'

/** How an agent starts a server, as its settings say. */
export interface ServerStart {
  command: string
  args: string[]
}

/** The start of stint's server; `program` is `['/usr/bin/node', '/…/stint.cjs']` or the like. */
export const serverStart = ([command = '', ...rest]: readonly string[]): ServerStart => ({
  command,
  args: [...rest, 'mcp'],
})

/**
 * The start of the server in an entry of that name; undefined if it starts anything but stint. Only the full
 * path of node may precede stint: others, such as npx, are the user's own choice.
 */
export function readStart(entry: unknown): (ServerStart & { options: string[] }) | undefined {
  const { command, args } = objectOr(entry)
  if (!isString(command) || !Array.isArray(args) || !args.every(isString)) return undefined
  const words = [command, ...args]
  const at = words.findIndex((word) => /^stint(\.c?js)?$/.test(basename(word)))
  if (at < 0 || at > 1 || words[at + 1] !== 'mcp') return undefined
  if (at === 1 && !isAbsolute(command)) return undefined
  return { command, args, options: words.slice(at + 2) }
}

/** What the entry says, if it is stint's; throws `NAME_TAKEN` if another server has the name. */
export function ownStart(entry: unknown, name: string): ReturnType<typeof readStart> {
  const start = readStart(entry)
  if (start !== undefined || entry === undefined) return start
  throw new StintError('NAME_TAKEN', `\`${name}\` exists already, and does not start stint as stint does`, {
    hint: 'Remove it or give it another name, then try again.',
  })
}
