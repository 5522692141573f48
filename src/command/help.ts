import type { OptionTable } from './option.ts'
import { optionsOf } from './runtime-flags.ts'
import type { Command, CommandGroup } from './spec.ts'

/** What --help prints: usage, options, examples. */
export function commandHelp(command: Command, called: string = command.name): string {
  const usage = `${called} [options]${command.positionals === undefined ? '' : ` ${command.positionals}`}`
  return sections([
    command.summary,
    titled('Usage', [usage]),
    titled('Options', columns(optionRows(optionsOf(command)))),
    titled('Examples', columns(command.examples ?? [])),
  ])
}

export function groupHelp(group: CommandGroup, called: string = group.name): string {
  const rows = Object.entries(group.commands).map(([name, { summary }]): Row => [name, summary])
  return sections([
    group.summary,
    titled('Usage', [`${called} <command> [options]`]),
    titled('Commands', columns(rows)),
    titled('Examples', columns(group.examples ?? [])),
    `Run \`${called} <command> --help\` for the options of a command.`,
  ])
}

type Row = readonly [left: string, right: string]

const optionRows = (table: OptionTable): Row[] =>
  Object.entries(table).map(([name, spec]) => {
    const value = spec.type === 'boolean' ? '' : ` ${spec.choices?.join('|') ?? spec.value ?? 'VALUE'}`
    return [`${spec.short === undefined ? '' : `-${spec.short}, `}--${name}${value}`, spec.help]
  })

function columns(rows: readonly Row[]): string[] {
  const width = Math.max(0, ...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`)
}

const titled = (title: string, lines: readonly string[]): string | undefined =>
  lines.length === 0 ? undefined : `${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`

const sections = (parts: readonly (string | undefined)[]): string =>
  `${parts.filter((part) => part !== undefined).join('\n\n')}\n`
