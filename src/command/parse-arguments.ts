import { durationHint, parseDuration } from '../base/text/duration.ts'
import { parseSize } from '../base/text/size.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { closest } from './did-you-mean.ts'
import type { OptionSpec, OptionTable, OptionValues, ParsedArgs } from './option.ts'

interface ParseStyle {
  /** From the first positional on, everything is the command of somebody else. */
  stopAtPositional?: boolean
  /** Leave options that are not in the table where they are, for another parser. */
  passUnknown?: boolean
}

/** Parses `--name value`, `--name=value`, `-n value`, `--flag`; after `--` everything is positional. */
export function parseArguments<Table extends OptionTable>(
  argv: readonly string[],
  table: Table,
  style: ParseStyle = {},
): ParsedArgs<Table> {
  const values: Record<string, unknown> = {}
  for (const [name, spec] of Object.entries(table)) values[name] = emptyValue(spec)
  const positionals: string[] = []
  const queue = [...argv]

  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    if (word === '--') {
      positionals.push(...(style.passUnknown ? ['--', ...queue] : queue))
      break
    }
    if (!word.startsWith('-') || word === '-') {
      positionals.push(word)
      if (!style.stopAtPositional) continue
      positionals.push(...queue.splice(0, queue.length))
      break
    }
    const { flag, inline } = splitWord(word)
    const name = nameOf(flag, table)
    const spec = name === undefined ? undefined : table[name]
    if (name === undefined || spec === undefined) {
      if (!style.passUnknown) throw unknownOption(flag, table)
      positionals.push(word)
    } else if (spec.type === 'boolean') {
      if (inline !== undefined) throw new StintError('ARG_ERROR', `${flag} takes no value`)
      values[name] = true
    } else {
      const text = inline ?? queue.shift()
      if (text === undefined) throw new StintError('ARG_ERROR', `${flag} needs a value`)
      const value = readValue(flag, text, spec)
      if (spec.type === 'strings') (values[name] as unknown[]).push(value)
      else values[name] = value
    }
  }
  return { options: values as OptionValues<Table>, positionals }
}

const emptyValue = ({ type }: OptionSpec): unknown =>
  type === 'boolean' ? false : type === 'strings' ? [] : undefined

function splitWord(word: string): { flag: string; inline: string | undefined } {
  const at = word.indexOf('=')
  return at < 0 ? { flag: word, inline: undefined } : { flag: word.slice(0, at), inline: word.slice(at + 1) }
}

function nameOf(flag: string, table: OptionTable): string | undefined {
  if (flag.startsWith('--')) return Object.hasOwn(table, flag.slice(2)) ? flag.slice(2) : undefined
  return Object.keys(table).find((name) => table[name]?.short === flag.slice(1))
}

function readValue(flag: string, text: string, { type, choices }: OptionSpec): unknown {
  if (choices !== undefined && !choices.includes(text)) {
    throw new StintError(
      'ARG_ERROR',
      `${flag} must be one of ${choices.join(', ')}; got ${JSON.stringify(text)}`,
    )
  }
  const measure = measures[type]
  if (measure === undefined) return text
  const amount = measure.read(text)
  if (amount !== undefined) return amount
  throw new StintError('ARG_ERROR', `${flag} takes a ${measure.name}, not ${JSON.stringify(text)}`, {
    hint: measure.hint(text),
  })
}

/** The types whose values are numbers. */
const measures: Partial<Record<OptionSpec['type'], Measure>> = {
  duration: { name: 'duration', read: parseDuration, hint: durationHint },
  size: { name: 'size', read: parseSize, hint: () => 'Write it as 500MB, 2GiB, 1.5g or in bytes.' },
  count: { name: 'whole number', read: parseCount, hint: () => 'Write it as 0, 7 or 5000.' },
}

interface Measure {
  name: string
  read: (text: string) => number | undefined
  hint: (text: string) => string
}

function parseCount(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function unknownOption(flag: string, table: OptionTable): StintError {
  const near = closest(flag.replace(/^-+/, ''), Object.keys(table))
  const hint = near === undefined ? undefined : `Did you mean --${near}?`
  return new StintError('ARG_ERROR', `unknown option ${flag}`, hint === undefined ? {} : { hint })
}
