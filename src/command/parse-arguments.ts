import { durationHint, parseDuration } from '../base/text/duration.ts'
import { shellWord } from '../base/text/escape.ts'
import { parseSize } from '../base/text/size.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { OptionSpec, OptionTable, OptionValues, ParsedArgs } from './define-command.ts'

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
  const startedLists = new Set<string>()
  const positionals: string[] = []

  // `--` is never a value, so the options end at the first one.
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const words = argv.slice(0, end)
  for (let at = 0; at < end; at++) {
    const word = words[at] as string
    const options = optionsIn(word, table)
    if (options === undefined && !style.passUnknown) throw unknownOption(word, table)
    if (options?.length === 0 && style.stopAtPositional)
      return { options: values as OptionValues<Table>, positionals: argv.slice(at) }
    if (options === undefined || options.length === 0) positionals.push(word)
    for (const option of options ?? []) {
      const { name, spec, joined } = option
      const takesNextWord = spec.type !== 'boolean' && joined === undefined
      const value = takesNextWord ? readNextWord(option, words[++at]) : readJoined(option)
      if (spec.type === 'strings' && startedLists.has(name)) (values[name] as unknown[]).push(value)
      else values[name] = spec.type === 'strings' ? [value] : value
      startedLists.add(name)
    }
  }
  const parsed = { options: values as OptionValues<Table>, positionals }
  const hasDashes = end < argv.length && !style.passUnknown
  if (hasDashes) Object.assign(parsed, { dashesAt: positionals.length })
  positionals.push(...argv.slice(hasDashes ? end + 1 : end))
  return parsed
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
    const argument = values[name]
    if (!required || (type === 'strings' ? (argument as unknown[]).length > 0 : argument !== undefined))
      continue
    throw new StintError('ARG_ERROR', `--${name} is missing`, {
      hint: `Add --${name}${type === 'boolean' ? '' : ` ${value ?? 'VALUE'}`}.`,
    })
  }
}

/** `ARG_ERROR` unless there are as many positionals as a usage such as `FILE [MORE...]` describes. */
export function checkPositionals(words: readonly string[], usage = ''): void {
  const places = (usage.match(/\[[^\]]*\]|\S+/g) ?? []).filter((place) => place !== '--')
  const missing = places.filter((place) => !place.startsWith('['))[words.length]
  if (missing !== undefined)
    throw new StintError('ARG_ERROR', `${missing.replace(/\.\.\.$|…$/, '')} is missing`)
  const extra = words[places.length]
  if (extra !== undefined && !places.some((place) => /(?:\.\.\.|…)\]?$/.test(place)))
    throw new StintError('ARG_ERROR', `unexpected argument ${JSON.stringify(extra)}`)
}

/** An option in a word of the command line. */
interface WrittenOption {
  name: string
  spec: OptionSpec
  /** As it was written: `--name` or `-n`. */
  flag: string
  /** The value in the same word: `--name=value`, `-nvalue` or `-n=value`. */
  joined?: string
}

/** The options in a word: none in a positional, two in `-fn`. Undefined if one is not in the table. */
function optionsIn(word: string, table: OptionTable): WrittenOption[] | undefined {
  if (!word.startsWith('-') || word === '-') return []
  if (!word.startsWith('--')) return shortOptionsIn(word, table)
  const [, name = '', joined] = /^--(.[^=]*)(?:=(.*))?$/s.exec(word) ?? []
  const spec = Object.hasOwn(table, name) ? table[name] : undefined
  return spec && [{ name, spec, flag: `--${name}`, joined }]
}

function shortOptionsIn(word: string, table: OptionTable): WrittenOption[] | undefined {
  const options: WrittenOption[] = []
  for (let at = 1; at < word.length; at++) {
    const [name, spec] = Object.entries(table).find(([, { short }]) => short === word[at]) ?? []
    if (name === undefined || spec === undefined) return undefined
    const after = spec.type === 'boolean' ? '' : word.slice(at + 1)
    options.push({
      name,
      spec,
      flag: `-${word[at]}`,
      joined: after === '' ? undefined : after.replace(/^=/, ''),
    })
    if (after !== '') break
  }
  return options
}

function readJoined({ flag, spec, joined }: WrittenOption): unknown {
  if (spec.type !== 'boolean') return readValue(flag, joined ?? '', spec)
  if (joined === undefined) return true
  throw new StintError('ARG_ERROR', `${flag} takes no value`)
}

function readNextWord({ name, flag, spec }: WrittenOption, word: string | undefined): unknown {
  if (word === undefined) throw new StintError('ARG_ERROR', `${flag} needs a value`)
  if (!/^--?[a-z]/i.test(word)) return readValue(flag, word, spec)
  throw new StintError(
    'ARG_ERROR',
    `${flag} needs a value, and ${JSON.stringify(word)} looks like an option`,
    { hint: valueHint(spec, word) ?? `If it is the value, write: ${shellWord(`--${name}=${word}`)}` },
  )
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
  // `=` is not an option, so `-f=yes` is not either.
  if (Object.values(table).some(({ short }) => flag === `-${short}`))
    return new StintError('ARG_ERROR', `${flag} takes no value`)
  const near = findClosest(flag.replace(/^-+/, ''), Object.keys(table))
  const hint = near === undefined ? undefined : `Did you mean --${near}?`
  return new StintError('ARG_ERROR', `unknown option ${flag}`, hint === undefined ? {} : { hint })
}

/** Returns the word that a misspelt one was probably meant to be; undefined if none is close enough. */
export function findClosest(word: string, words: readonly string[]): string | undefined {
  const ranked = words.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
  ranked.sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3))
    ? best.candidate
    : undefined
}

/** The number of letters that were added, left out, mistaken or swapped with their neighbour. */
function editDistance(a: string, b: string): number {
  let last: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, char] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const exchanged = char === b[j - 1] && other === a[i - 1] ? (last[j - 1] ?? 0) + 1 : Infinity
      const mistaken = (row[j] ?? 0) + (char === other ? 0 : 1)
      next.push(Math.min(mistaken, exchanged, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    last = row
    row = next
  }
  return row.at(-1) ?? 0
}
