/** A word of a shell command, after the shell has removed its quotes. */
export interface ShellWord {
  text: string
  /** The shell replaces a variable or an unquoted pattern in it, so the program may see other words. */
  expands: boolean
}

/** One program with its arguments: a part of a pipe or of a list. */
export type SimpleCommand = readonly ShellWord[]

/**
 * Splits a command line into its programs. Undefined if it contains anything else than words, quotes, lists,
 * pipes, redirections that write no file, groups and loops: bash, zsh and dash agree on the meaning of these,
 * and fish does, too, or refuses them.
 */
export function splitCommand(line: string): SimpleCommand[] | undefined {
  const commands: ShellWord[][] = [[]]
  for (const token of tokens(line)) {
    if (token === 'unknown') return undefined
    if (token === 'end of command') commands.push([])
    else commands.at(-1)?.push(token)
  }
  return commands.filter((words) => words.length > 0)
}

type Token = ShellWord | 'end of command' | 'unknown'

const blank = /(?:[ \t]|\\\n)+/y
const comment = /#[^\n]*/y
const separator = /&&|\|\||[;|\n]/y
/** `2>&1`, `>/dev/null` but not `>/dev/nullx`, and `<file`, which only reads. */
const redirection = /(?:\d?>&[12]|\d?>>?[ \t]*\/dev\/null|\d?<[ \t]*\/?[\w.~][\w./~-]*)(?![^\s;|&)])/y
/** Only at the end of a command: dash would run the words behind it as another. */
const bothToNull = /&>>?[ \t]*\/dev\/null(?=[ \t]*(?:&&|[;|\n]|$))/y

/** Where a command begins. No `((`, which is arithmetic, and no `()`, which begins a function. */
const keyword = /\((?![()#\\])|(?:\{|while|until|do)(?=\s)|(?:[)}]|done)(?![^\s;|&)])/y
/** No other variable: `for PATH in x` and, in zsh, `for path in x` choose which programs the loop runs. */
const loop = /for[ \t]+(?:[a-z]|file|dir|name|pkg|commit|branch|ref|id|pr|test)[ \t]+in(?=[ \t])/y
const closingParenthesis = /\)(?![^\s;|&)])/y
/** The keyword that has to follow on another. */
const closerOf: Record<string, string> = {
  '(': ')',
  '{': '}',
  for: 'do',
  while: 'do',
  until: 'do',
  do: 'done',
}

function* tokens(line: string): Generator<Token> {
  let at = 0
  /** What the next word belongs to: a new command, one that has begun, the list of a loop, or nothing. */
  let place: 'begin' | 'command' | 'list' | 'closed' = 'begin'
  const closers: string[] = []
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    if (!pattern.test(line)) return false
    at = pattern.lastIndex
    return true
  }
  while (at < line.length) {
    // Of these tokens, none begins with a letter: a pattern that is not tried is not compiled, either.
    if (!isLowerCase(line.charAt(at))) {
      if (skip(blank) || skip(comment) || skip(redirection) || skip(bothToNull)) continue
      if (skip(separator)) {
        place = 'begin'
        yield 'end of command'
        continue
      }
    }
    const start = at
    if (place === 'begin' ? skip(keyword) || skip(loop) : skip(closingParenthesis)) {
      const [token = ''] = line.slice(start, at).split(/\s/, 1)
      const closer = closerOf[token]
      if (closers.at(-1) === token) closers.pop()
      else if (closer === undefined || token === 'do') closers.push('unmatched')
      if (closer !== undefined) closers.push(closer)
      place = token === 'for' ? 'list' : closer === undefined ? 'closed' : 'begin'
      yield 'end of command'
      continue
    }
    const word = place === 'closed' ? undefined : readWord(line, at)
    if (word === undefined) break
    if (place === 'begin') place = 'command'
    if (place === 'command') yield word
    at = word.end
  }
  if (at < line.length || closers.length > 0) yield 'unknown'
}

const isLowerCase = (char: string): boolean => char >= 'a' && char <= 'z'

/** Braces only in `stash@{0}` and `{}`, where no shell expands them. */
const plain = /(?:[\w%+,\-./:=~^]|@(?:\{\d+\})?|\{\})+/y
const glob = /[*?[\]]+/y
/** No letter or digit: fish takes `\x2d` for a dash. */
const escaped = /\\[^\w\n]/y
/** No backslash before the quote: fish, unlike the others, would go on after it. */
const singleQuoted = /'(?:[^'\\]|\\[^'\\])*'/y
/** No bracket behind a variable: zsh would evaluate it as arithmetic, which can set another variable. */
const doubleQuoted = /"(?:[^"\\`$]|\\[^]|\$(?![=~^+]*\w*[?#@*!-]?\[|[({'"`$])|\$(?=")|\$\{\w+\}(?!\[))*"/y
const variable = /\$(?:[A-Za-z_]\w*(?![\w[])|(?:\{[A-Za-z_]\w*\}|[\d?#@*$!-])(?!\[))/y

/** Reads the word that begins at an index; undefined if it contains anything that the lexer does not know. */
function readWord(line: string, start: number): (ShellWord & { end: number }) | undefined {
  let at = start
  let text = ''
  let expands = false
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const match = pattern.exec(line)?.[0]
    if (match !== undefined) at = pattern.lastIndex
    return match
  }
  while (at < line.length && !/[\s;|&<>)]/.test(line[at] ?? '')) {
    let part
    if ((part = take(plain)) !== undefined) text += part
    else if ((part = take(singleQuoted)) !== undefined) text += part.slice(1, -1)
    else if ((part = take(escaped)) !== undefined) text += part.slice(1)
    else if ((part = take(doubleQuoted)) !== undefined) {
      // zsh expands `$=x`, `$~x` and `$^x`, too; a dollar sign before the closing quote stands for itself.
      expands ||= /\$(?!"$)/.test(part.replaceAll(/\\[^]/g, ''))
      text += part.slice(1, -1).replaceAll(/\\([$`"\\\n])/g, (_, next: string) => (next === '\n' ? '' : next))
    } else if ((part = take(variable) ?? take(glob)) !== undefined) {
      expands = true
      text += part
    } else return undefined
  }
  // zsh takes `^x` for a pattern if its user has chosen so, and bash `12` for a file descriptor in `12>x`.
  if (line.charAt(start) === '^' || (/^\d+$/.test(text) && /[<>]/.test(line.charAt(at)))) return undefined
  // `[` alone is a program, and `]` its last argument.
  if (text === '[' || text === ']') expands = false
  return at > start ? { text, expands, end: at } : undefined
}
