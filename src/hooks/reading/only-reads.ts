import {
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
  const commands = split(command)
  return commands.length > 0 && commands.every(isReading)
}

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
  return accepts(own(readingGitCommands(), name), args)
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

const isOption = (word: string): boolean => word.startsWith('-') && word !== '-'

/**
 * Checks every word that begins with a dash as an option, even behind `--`, behind an operand and where a
 * value is expected: the program may take it for one.
 */
function acceptsArguments(
  { first = /^/, never, options: known, operands: check }: ReadingArguments,
  words: readonly string[],
): boolean {
  if (!first.test(words[0] ?? '') || words.some((word) => never?.test(word))) return false
  if (known !== undefined && words.some((word) => isOption(word) && !known.test(word))) return false
  if (check === undefined) return true
  const start = words.findIndex((word) => !isOption(word))
  return start < 0 ? check([], words) : check(words.slice(start), words.slice(0, start))
}
