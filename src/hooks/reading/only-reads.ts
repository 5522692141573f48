import {
  changingGitCommands,
  checkedNames,
  checkedPrograms,
  isListed,
  printingPrograms,
  type ReadingArguments,
  readingGitCommands,
  type ReadingProgram,
  readingStintCommands,
} from './reading-programs.ts'
import { type ShellWord, type SimpleCommand, splitCommand } from './shell-lexer.ts'

/** In characters. Longer text may exhaust the stack of the lexer, and a fault lets the call through. */
const longestReading = 16_384

/**
 * Does a shell command change no file outside `.git`, no ref and no configuration? False if that is not
 * certain: for every program, option and piece of syntax that the tables and the lexer do not know, and for
 * a very long command.
 */
export function onlyReads(command: string): boolean {
  // Many commands begin with a program that is in no table: an agent waits while the rest is read.
  const [first] = /^[a-z][\w-]*(?=\s|$)/.exec(command) ?? []
  if (first !== undefined && !isKnown(first)) return false
  const commands = split(command)
  return commands.length > 0 && commands.every(isReading)
}

/** Whether a program may only read. */
const isKnown = (name: string): boolean =>
  isListed(name, 'time command timeout xargs git stint for while until') ||
  isListed(name, printingPrograms) ||
  isListed(name, checkedNames)

/** The words after `git` with which a command begins, if all that follows only reads and no word expands. */
export function leadingGit(command: string): string[] | undefined {
  // In a loop, git might run again in another directory.
  if (!command.startsWith('git ')) return undefined
  const [[program, ...words] = [], ...rest] = split(command)
  if (program?.text !== 'git' || words.some(({ expands }) => expands) || !rest.every(isReading))
    return undefined
  return words.map(({ text }) => text)
}

/** The programs of a command; none if it is not known to have no others. */
const split = (command: string): SimpleCommand[] =>
  (command.length > longestReading ? undefined : splitCommand(command)) ?? []

/** Does git change no file outside `.git`, no ref and no configuration, with these arguments? */
export const gitOnlyReads = (args: readonly string[]): boolean =>
  isReadingGit(args.map((text) => ({ text, expands: false })))

function isReading([program, ...words]: readonly ShellWord[]): boolean {
  if (program === undefined || program.expands) return false
  const { text } = program
  const name = text.startsWith('/') ? text.replace(/^\/(?:usr\/)?bin\//, '') : text
  const [first = none, second = none] = words
  switch (name) {
    case 'time':
      return isReading(words)
    case 'command':
      return /^-[vV]$/.test(first.text) || isReading(words)
    case 'timeout':
      return /^\d+(?:\.\d+)?[smhd]?$/.test(first.text) && isReading(words.slice(1))
    case 'xargs':
      return isReadingXargs(words)
    case 'git':
      return isReadingGit(words)
    case 'stint':
      return (
        readingStintCommands().includes(first.text) ||
        readingStintCommands().includes(`${first.text} ${second.text}`) ||
        (words.length === 1 && /^--(?:help|version)$/.test(first.text))
      )
    default:
      return isListed(name, printingPrograms) || accepts(own(checkedPrograms(), name), words)
  }
}

const none: ShellWord = { text: '', expands: false }

/** The words that xargs adds are unknown, so its program must be one that never writes. */
function isReadingXargs(words: readonly ShellWord[]): boolean {
  let at = 0
  for (; words[at]?.text.startsWith('-'); at++) {
    const { text, expands } = words[at] ?? none
    if (expands) return false
    if (/^-[nLPdI]$/.test(text)) {
      const value = words[++at]
      if (value === undefined || value.expands || !isXargsValue(text.slice(1), value.text)) return false
    } else if (!/^-[0rtx]+$/.test(text) && !isXargsValue(text.charAt(1), text.slice(2))) return false
  }
  const [program, ...more] = words.slice(at)
  if (program === undefined) return true
  return isReading([program, ...more, { text: '', expands: true }])
}

/** Some versions put a line of the input into the program's name, too: no letter may stand for the line. */
const isXargsValue = (option: string, value: string): boolean =>
  ({ n: /^\d+$/, L: /^\d+$/, P: /^\d+$/, d: /^[^]+$/, I: /^[{}%@]+$/ })[option]?.test(value) ?? false

function isReadingGit(words: readonly ShellWord[]): boolean {
  let at = 0
  for (; words[at]?.text.startsWith('-'); at++) {
    const { text } = words[at] ?? none
    if (/^(?:--version|--help|-h)$/.test(text)) return words.length === at + 1
    if (text === '-C') at++
    else if (!/^(?:-p|--paginate|-P|--no-pager|--no-optional-locks)$/.test(text)) return false
  }
  if (words.slice(0, at + 1).some(({ expands }) => expands)) return false
  // The formats `%G?` and, since git 2.43, `%(signature)` run gpg, which makes files in the user's home.
  const text = words.map((word) => word.text).join(' ')
  if (/%G|%\(\*?signature|--sort[= ]\S*signature/.test(text)) return false
  // git without a command shows its usage.
  if (words.length === at) return true
  const [{ text: name } = none, ...args] = words.slice(at)
  return asksForHelp(name, args) || accepts(own(readingGitCommands(), name), args)
}

/** git itself answers `git NAME --help`; `-h` goes to the command, which may be an alias. */
function asksForHelp(name: string, [first = none, ...more]: readonly ShellWord[]): boolean {
  if (more.length > 0 || first.expands) return false
  const isOfGit = Object.hasOwn(readingGitCommands(), name) || changingGitCommands().includes(name)
  return first.text === '--help' || (first.text === '-h' && isOfGit)
}

/** Looks up a name that came from outside: a table has no `constructor`. */
const own = <Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

function accepts(program: ReadingProgram | undefined, words: readonly ShellWord[]): boolean {
  if (program === undefined) return false
  // The word may become an option that writes.
  if (words.some(({ expands }) => expands)) return false
  const texts = words.map(({ text }) => text)
  return typeof program === 'function' ? program(texts) : acceptsArguments(program, texts)
}

/**
 * Checks every word that begins with a dash as an option, even behind `--`, behind an operand and where a
 * value is expected: the program may take it for one. It may also take it for an operand or a value, so where
 * the operands count, a dash behind the first of them or behind `--` begins an operand, and no value.
 */
function acceptsArguments(
  { flags = '', values = '', long = '', first = /^/, operands: check }: ReadingArguments,
  words: readonly string[],
): boolean {
  if (!first.test(words[0] ?? '')) return false
  const longNames = new Set(long.match(/\S+/g))
  const options: string[] = []
  const operands: string[] = []
  let isValue = false
  let isBehindOptions = false
  for (const word of words) {
    const wasValue = isValue
    isValue = false
    const isDashed = word.startsWith('-') && word !== '-'
    if (isDashed && wasValue && check !== undefined) return false
    if (word.startsWith('--')) {
      const [name = ''] = word.slice(2).split('=', 1)
      if (word !== '--' && !longNames.has(name)) return false
    } else if (isDashed) {
      const letters = word.slice(1).split('')
      const other = letters.findIndex((letter) => !flags.includes(letter))
      if (other >= 0 && !values.includes(letters[other] ?? '')) return false
      isValue = other === letters.length - 1 && !isBehindOptions
    }
    if (word === '--' && !isBehindOptions) isBehindOptions = true
    else if (isDashed && !isBehindOptions) options.push(word)
    else if (!wasValue) {
      operands.push(word)
      isBehindOptions = true
    }
  }
  return check === undefined || check(operands, options)
}
