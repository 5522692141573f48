import type { OptionTable } from './option.ts'
import { optionsOf } from './runtime-flags.ts'
import type { Command, CommandGroup } from './define-command.ts'
import { usualWidth } from './is-terminal.ts'
import { columns, type Row, wrap } from './wrap.ts'

/** What --help prints: usage, options, examples; in lines that fit into `width` columns. */
export function commandHelp(command: Command, called: string = command.name, width = usualWidth): string {
  const usage = `${called} [options]${command.positionals === undefined ? '' : ` ${command.positionals}`}`
  return sections(width, [
    command.summary,
    titled('Usage', wrap(usage, width - indent, 4)),
    titled('Options', columns(optionRows(optionsOf(command)), width - indent)),
    titled('Examples', columns(command.examples ?? [], width - indent)),
  ])
}

export function groupHelp(group: CommandGroup, called: string = group.name, width = usualWidth): string {
  const rows = Object.entries(group.commands).map(([name, { summary }]): Row => [name, summary])
  return sections(width, [
    group.summary,
    titled('Usage', [`${called} <command> [options]`]),
    titled('Commands', columns(rows, width - indent)),
    titled('Examples', columns(group.examples ?? [], width - indent)),
    `Run \`${called} <command> --help\` for the options of a command.`,
  ])
}

const indent = 2

const optionRows = (table: OptionTable): Row[] =>
  Object.entries(table).map(([name, spec]) => {
    const value = spec.type === 'boolean' ? '' : ` ${spec.choices?.join('|') ?? spec.value ?? 'VALUE'}`
    return [`${spec.short === undefined ? '' : `-${spec.short}, `}--${name}${value}`, spec.help]
  })

interface Titled {
  title: string
  lines: readonly string[]
}

const titled = (title: string, lines: readonly string[]): Titled => ({ title, lines })

const sections = (width: number, parts: readonly (string | Titled | undefined)[]): string =>
  `${parts.flatMap((part) => section(part, width)).join('\n\n')}\n`

function section(part: string | Titled | undefined, width: number): string[] {
  if (part === undefined) return []
  if (typeof part === 'string') return [wrap(part, width).join('\n')]
  if (part.lines.length === 0) return []
  return [[`${part.title}:`, ...part.lines.map((line) => ' '.repeat(indent) + line)].join('\n')]
}
