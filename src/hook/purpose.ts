import { hosts } from './hosts.ts'
import type { HookEvent } from './event.ts'
import { touchedPaths } from './touched-paths.ts'

/**
 * What a call is for, in a few words, for whoever is refused because of it. Of a command only what the model calls it, or its first word: what follows may
 * be anything, a password too. `clean` takes secrets out of the rest, before it is cut.
 */
export function purposeOf(
  { host, tool }: Pick<HookEvent, 'host' | 'tool'>,
  clean: (text: string) => string,
): string {
  const { title } = hosts[host]
  if (tool === undefined) return title
  const [file] = tool.use === 'edit' ? touchedPaths(tool) : []
  const what = file ?? describe(tool.input)
  return `${title}: ${tool.name}${what === undefined ? '' : ` ${clean(what).replaceAll(/\s+/g, ' ').slice(0, 120)}`}`
}

function describe({ description, command }: Record<string, unknown>): string | undefined {
  if (typeof description === 'string' && description.trim() !== '') return `(${description.trim()})`
  const [first = ''] = typeof command === 'string' ? command.trim().split(/\s/, 1) : []
  return /^[\w./-]{1,40}$/.test(first) ? first : undefined
}
