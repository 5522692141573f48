import { displayWidth } from '../base/text/display-width.ts'
import { wrap } from '../base/text/wrap.ts'
import type { Command, CommandGroup } from './define-command.ts'
import { columnsOf, usualColumns } from '../base/process/terminal.ts'
import type { OptionSpec, OptionTable } from './option.ts'
import { optionsOf } from './invocation.ts'
import { isGroup } from './select.ts'

/** The help of a command or a group, as wide as the terminal on stdout or stderr. */
export function helpFor(target: Command | CommandGroup, called: string, fd: 1 | 2): string {
  const columns = columnsOf(fd) ?? usualColumns
  return isGroup(target) ? groupHelp(target, called, columns) : commandHelp(target, called, columns)
}

/** Usage, options and examples of a command, in lines of at most `columns` columns. */
export function commandHelp(command: Command, called = command.name, columns = usualColumns): string {
  const usage = `${called} [options]${command.positionals === undefined ? '' : ` ${command.positionals}`}`
  return joinSections(columns, [
    command.summary,
    { title: 'Usage', lines: wrap(usage, columns - indent, 4) },
    { title: 'Options', lines: twoColumns(optionRows(optionsOf(command)), columns - indent) },
    { title: 'Examples', lines: twoColumns(command.examples ?? [], columns - indent) },
  ])
}

/** Usage, commands and examples of a group, in lines of at most `columns` columns. */
export function groupHelp(group: CommandGroup, called = group.name, columns = usualColumns): string {
  const rows = Object.entries(group.commands).map(([name, { summary = '' }]): HelpRow => [name, summary])
  return joinSections(columns, [
    group.summary,
    {
      title: 'Usage',
      lines: [...(group.defaultCommand ? [`${called} [options]`] : []), `${called} <command> [options]`],
    },
    { title: 'Commands', lines: twoColumns(rows, columns - indent) },
    { title: 'Examples', lines: twoColumns(group.examples ?? [], columns - indent) },
    `Run \`${called} <command> --help\` for the options of a command.`,
  ])
}

type HelpRow = readonly [left: string, right: string]

const indent = 2

const optionRows = (table: OptionTable): HelpRow[] =>
  Object.entries(table).map(([name, spec]) => {
    const value = spec.type === 'boolean' ? '' : ` ${spec.choices?.join('|') ?? spec.value ?? 'VALUE'}`
    return [
      `${spec.short === undefined ? '' : `-${spec.short}, `}--${name}${value}`,
      spec.help + noteOf(spec),
    ]
  })

/** The note on an option that is required, or has a default. */
function noteOf({ required, default: preset }: OptionSpec): string {
  if (required) return ' (required)'
  return preset === undefined
    ? ''
    : ` (default: ${Array.isArray(preset) ? preset.join(', ') : String(preset)})`
}

type Section = string | undefined | { title: string; lines: readonly string[] }

const joinSections = (columns: number, sections: readonly Section[]): string =>
  `${sections.flatMap((section) => renderSection(section, columns)).join('\n\n')}\n`

function renderSection(section: Section, columns: number): string[] {
  if (section === undefined) return []
  if (typeof section === 'string') return [wrap(section, columns).join('\n')]
  if (section.lines.length === 0) return []
  return [[`${section.title}:`, ...section.lines.map((line) => ' '.repeat(indent) + line)].join('\n')]
}

const gap = 2
const leastIndent = 4
/** The narrowest right column that is still easy to read. */
const leastRightColumns = 30

/**
 * Lays out rows in two columns; the right one is wrapped below itself. Where the left cell leaves it too
 * little room, the right one starts on the next line.
 */
export function twoColumns(rows: readonly HelpRow[], columns: number): string[] {
  const lefts = rows.map(([left]) => displayWidth(left) + gap)
  const start = Math.max(leastIndent, ...lefts.filter((left) => columns - left >= leastRightColumns))
  return rows.flatMap(([left, right]) => {
    const [first = '', ...others] = wrap(right, columns - start)
    const below = (line: string): string => ' '.repeat(start) + line
    const padding = start - displayWidth(left)
    if (padding < gap) return [left, below(first), ...others.map(below)]
    return [left + ' '.repeat(padding) + first, ...others.map(below)]
  })
}
