/** Embedding a string in another escapes its escapes: up to two levels deep, and once more on disk. */
const escapes = String.raw`\\{1,7}`
const maybeEscapes = String.raw`\\{0,7}`
/** `%22`, or encoded twice: `%2522`. */
const percent = '%(?:25){0,2}'

const shortEscapes: Readonly<Record<string, string>> = {
  '\b': 'b',
  '\f': 'f',
  '\n': 'n',
  '\r': 'r',
  '\t': 't',
}
const entities: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
}

/**
 * The source of a regular expression that matches a string verbatim, URL-encoded (a space also as a plus),
 * JSON-escaped (also by encoders that escape more than they must: `\/`, `\u003c`), HTML-escaped, or quoted
 * for a shell. None of these changes letters and digits.
 */
export const tolerant = (text: string): string =>
  text.replaceAll(/\\+|[^A-Za-z0-9]/gu, (piece) =>
    piece.startsWith('\\') ? backslashes(piece.length) : anyEncoding(piece),
  )

function backslashes(count: number): string {
  return String.raw`(?:\\(?:u005[cC]|x5[cC])?|${percent}5[cC]){${count},${count * 8}}`
}

function anyEncoding(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const ways = [maybeEscapes + literal(character), unicodeEscape(character), percentEncoded(character)]
  if (code < 0x100) ways.push(`${escapes}x${anyCase(hex(code, 2))}`)
  const short = shortEscapes[character]
  if (short !== undefined) ways.push(escapes + short)
  const entity = entities[character]
  if (entity !== undefined) ways.push(`&${entity};`, `&#0*${code};`, `&#[xX]0*${anyCase(hex(code, 1))};`)
  if (character === ' ') ways.push(String.raw`\+`)
  if (character === '\n')
    ways.push(String.raw`\r\n`, `${escapes}r${escapes}n`, `${percent}0[dD]${percent}0[aA]`)
  // Inside a quoted word of a shell or of YAML.
  if (character === "'") ways.push(`'${escapes}''`, "''")
  return `(?:${ways.join('|')})`
}

const unicodeEscape = (character: string): string =>
  character
    .split('')
    .map((unit) => `${escapes}u${anyCase(hex(unit.charCodeAt(0), 4))}`)
    .join('')

const percentEncoded = (character: string): string =>
  [...Buffer.from(character)].map((byte) => percent + anyCase(hex(byte, 2))).join('')

const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')

/** Matches hexadecimal digits in upper or lower case. */
export const anyCase = (digits: string): string =>
  digits.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)

const literal = (character: string): string =>
  /[\^$.*+?()[\]{}|/\\-]/.test(character) ? `\\${character}` : character
