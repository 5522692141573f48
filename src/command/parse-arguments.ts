import { parseArgs } from 'node:util'
import { durationHint, parseDuration } from '../base/text/duration.ts'
import { shellWord } from '../base/text/escape.ts'
import { parseSize } from '../base/text/size.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { findClosest } from './did-you-mean.ts'
import type { OptionSpec, OptionTable, OptionValues, ParsedArgs } from './option.ts'

interface ParseStyle {
  /** Treat everything from the first positional on as the command line of another program. */
  stopAtPositional?: boolean
  /** Leave options that are not in the table where they are, for another parser. */
  passUnknown?: boolean
}

/**
 * Parses `--name value`, `--name=value`, `-n value`, `-nvalue`, `-fn value` and `--flag`. After `--` every
 * word is positional. A value that looks like an option has to be joined to its own option: `--name=--value`.
 */
export function parseArguments<Table extends OptionTable>(
  argv: readonly string[],
  table: Table,
  style: ParseStyle = {},
): ParsedArgs<Table> {
  const values: Record<string, unknown> = {}
  for (const [name, spec] of Object.entries(table)) values[name] = valueWithout(name, spec)
  /** Lists that the command line has begun: the first value replaces the default. */
  const begun = new Set<string>()
  const positionals: string[] = []

  // `--` is never a value, so the options end at the first one.
  const end = argv.indexOf('--')
  let rest = end < 0 ? [] : argv.slice(style.passUnknown ? end : end + 1)

  for (const token of tokenize(end < 0 ? argv : argv.slice(0, end), table)) {
    const word = argv[token.index] ?? ''
    if (token.kind === 'option') {
      const spec = table[token.name] as OptionSpec
      const value = readOption(token, spec)
      if (spec.type === 'strings' && begun.has(token.name)) (values[token.name] as unknown[]).push(value)
      else values[token.name] = spec.type === 'strings' ? [value] : value
      begun.add(token.name)
    } else if (token.kind === 'unknown') {
      if (!style.passUnknown) throw unknownOption(word, table)
      positionals.push(word)
    } else if (style.stopAtPositional) {
      rest = argv.slice(token.index)
      break
    } else positionals.push(word)
  }
  return { options: values as OptionValues<Table>, positionals: [...positionals, ...rest] }
}

/** The value of an option that was not given. */
function valueWithout(name: string, spec: OptionSpec): unknown {
  const { type, default: preset } = spec
  if (type === 'boolean') return false
  if (type === 'strings') return Array.isArray(preset) ? [...(preset as string[])] : []
  return typeof preset === 'string' ? readValue(`--${name}`, preset, spec) : preset
}

/** `ARG_ERROR` if an option that must be given is missing. */
export function checkRequired(values: Readonly<Record<string, unknown>>, table: OptionTable): void {
  for (const [name, { required, value, type }] of Object.entries(table)) {
    const given = values[name]
    if (!required || (type === 'strings' ? (given as unknown[]).length > 0 : given !== undefined)) continue
    throw new StintError('ARG_ERROR', `--${name} is missing`, {
      hint: `Add --${name}${type === 'boolean' ? '' : ` ${value ?? 'VALUE'}`}.`,
    })
  }
}

interface OptionToken {
  kind: 'option'
  index: number
  name: string
  /** As it was written: `--name` or `-n`. */
  rawName: string
  value?: string
  inlineValue?: boolean
}

/** A word of the command line, by its index; `-fn` is one word and two options. */
type Token = OptionToken | { kind: 'unknown' | 'positional'; index: number }

/** Splits words with Node's parser. A word with an option that is not in the table is one `unknown` token. */
function tokenize(words: readonly string[], table: OptionTable): Token[] {
  // Loading that parser takes a millisecond.
  if (!words.some((word) => word.startsWith('-')))
    return words.map((_, index) => ({ kind: 'positional', index }))
  const options = Object.entries(table).map(([name, { type, short }]) => [
    name,
    { type: type === 'boolean' ? 'boolean' : 'string', ...(short !== undefined && { short }) } as const,
  ])
  const { tokens } = parseArgs({
    args: words.map((word) => (isMisread(word, table) ? `--${word}` : word)),
    options: Object.fromEntries(options),
    strict: false,
    tokens: true,
  }) as unknown as { tokens: Token[] }
  const unknown = new Set(tokens.filter((token) => isUnknown(token, table)).map(({ index }) => index))
  return tokens.flatMap((token, at): Token[] => {
    const { index } = token
    if (unknown.has(index)) return tokens[at - 1]?.index === index ? [] : [{ kind: 'unknown', index }]
    const hasOwnWord = token.kind === 'option' && token.inlineValue === false
    return [hasOwnWord ? { ...token, value: words[index + 1] } : token]
  })
}

/** Node reads the dash in `-f-x` as the word `--` and takes every later word for a positional. */
function isMisread(word: string, table: OptionTable): boolean {
  const [dash, ...letters] = word
  if (dash !== '-' || letters[0] === '-') return false
  const specs = Object.values(table).filter(({ type }) => type !== 'boolean')
  const end = letters.findIndex((letter) => letter === '-' || specs.some(({ short }) => short === letter))
  return letters[end] === '-'
}

/** Node takes the letter of an unknown `-n` for a long name, so `--n` would answer to `-n`. */
function isUnknown(token: Token, table: OptionTable): boolean {
  if (token.kind !== 'option') return false
  const { name, rawName } = token
  if (!Object.hasOwn(table, name)) return true
  return !rawName.startsWith('--') && table[name]?.short !== rawName.slice(1)
}

function readOption({ name, rawName: flag, value, inlineValue }: OptionToken, spec: OptionSpec): unknown {
  if (spec.type === 'boolean') {
    if (value === undefined) return true
    throw new StintError('ARG_ERROR', `${flag} takes no value`)
  }
  if (value === undefined) throw new StintError('ARG_ERROR', `${flag} needs a value`)
  if (!inlineValue && /^--?[a-z]/i.test(value))
    throw new StintError(
      'ARG_ERROR',
      `${flag} needs a value, and ${JSON.stringify(value)} looks like an option`,
      { hint: valueHint(spec, value) ?? `If it is the value, write: ${shellWord(`--${name}=${value}`)}` },
    )
  // Node leaves the = of -n=value in the value.
  return readValue(flag, inlineValue && !flag.startsWith('--') ? value.replace(/^=/, '') : value, spec)
}

function readValue(flag: string, text: string, spec: OptionSpec): unknown {
  const { type, choices } = spec
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

/** How to write a value; undefined if any string is one. */
const valueHint = ({ type, choices }: OptionSpec, text: string): string | undefined =>
  choices === undefined ? measures[type]?.hint(text) : `Write one of ${choices.join(', ')}.`

interface Measure {
  name: string
  read: (text: string) => number | undefined
  hint: (text: string) => string
}

/** The types whose values are numbers. */
const measures: Partial<Record<OptionSpec['type'], Measure>> = {
  duration: { name: 'duration', read: parseDuration, hint: durationHint },
  size: { name: 'size', read: parseSize, hint: () => 'Write it as 500MB, 2GiB, 1.5g or in bytes.' },
  count: {
    name: 'whole number',
    read: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined),
    hint: () => 'Write it as 0, 7 or 5000.',
  },
  number: {
    name: 'number',
    read: (text) => (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?$/i.test(text) ? finite(text) : undefined),
    hint: () => 'Write it as 7, -1.5 or 1e6.',
  },
}

function finite(text: string): number | undefined {
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

function unknownOption(word: string, table: OptionTable): StintError {
  const [flag = word] = word.split('=')
  // Node reads -f=yes as the flags f, =, y, e and s.
  if (Object.values(table).some(({ short }) => flag === `-${short}`))
    return new StintError('ARG_ERROR', `${flag} takes no value`)
  const near = findClosest(flag.replace(/^-+/, ''), Object.keys(table))
  const hint = near === undefined ? undefined : `Did you mean --${near}?`
  return new StintError('ARG_ERROR', `unknown option ${flag}`, hint === undefined ? {} : { hint })
}
