import { displayWidth, wrap } from '../base/text/wrap.ts'
import type { Command, CommandGroup, OptionSpec, OptionTable } from './define-command.ts'
import { columnsOf, usualColumns } from '../base/process/terminal.ts'
import { optionsOf, isGroup, loadEntry } from './invocation.ts'

/** The help of a command or a group, as wide as the terminal on stdout or stderr. `all`: every command. */
export async function helpFor(
  target: Command | CommandGroup,
  { called, fd, all }: { called: string; fd: 1 | 2; all: boolean },
): Promise<string> {
  const columns = columnsOf(fd) ?? usualColumns
  if (!isGroup(target)) return commandHelp(target, called, columns)
  return all ? await fullHelp(target, called, columns) : groupHelp(target, called, columns)
}

/** Usage, options and examples of a command, in lines of at most `columns` columns. */
export function commandHelp(command: Command, called = command.name, columns = usualColumns): string {
  const usage = `${called} [options]${command.positionals === undefined ? '' : ` ${command.positionals}`}`
  return joinSections(columns, [
    command.summary,
    wrap(`Usage: ${usage}`, columns, 4).join('\n'),
    { title: 'Options', lines: twoColumns(optionRows(optionsOf(command)), columns - indent) },
    { title: 'Examples', lines: twoColumns(command.examples ?? [], columns - indent) },
  ])
}

/** Usage, everyday commands and examples of a group, in lines of at most `columns` columns. */
export function groupHelp(group: CommandGroup, called = group.name, columns = usualColumns): string {
  const names = Object.keys(group.commands)
  const { everyday = names } = group
  const otherNames = names.filter((name) => !everyday.includes(name))
  const rows = everyday.map((name): HelpRow => [name, group.commands[name]?.summary ?? ''])
  return joinSections(columns, [
    group.summary,
    usageOf(group, called),
    { title: 'Commands', lines: twoColumns(rows, columns - indent) },
    { title: 'More commands', lines: wrap(otherNames.join(', '), columns - indent) },
    { title: 'Examples', lines: twoColumns(group.examples ?? [], columns - indent) },
    `\`${called} <command> --help\` has the options${otherNames.length === 0 ? '' : `, \`${called} --help --all\` every command`}.`,
  ])
}

/** Every command of a group and of the groups in it, in a line each. */
async function fullHelp(group: CommandGroup, called: string, columns: number): Promise<string> {
  return joinSections(columns, [
    group.summary,
    usageOf(group, called),
    { title: 'Commands', lines: twoColumns(await rowsOf(group), columns - indent) },
  ])
}

async function rowsOf(group: CommandGroup): Promise<HelpRow[]> {
  const rows = Object.entries(group.commands).map(async ([name, entry]): Promise<HelpRow[]> => {
    const target = await loadEntry(entry)
    const row: HelpRow = [name, entry.summary ?? '']
    if (!isGroup(target)) return [row]
    const below = (await rowsOf(target)).map(([left, right]): HelpRow => [`${name} ${left}`, right])
    return target.defaultCommand === undefined ? below : [row, ...below]
  })
  return (await Promise.all(rows)).flat()
}

const usageOf = ({ defaultCommand }: CommandGroup, called: string): string =>
  `Usage: ${called} ${defaultCommand ? '[<command>]' : '<command>'} [options]`

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
  if (section.lines.every((line) => line === '')) return []
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
