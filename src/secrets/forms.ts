import { anyCase, tolerant } from './tolerant.ts'

/** The size of the smallest secret in bytes. A shorter value would be found everywhere by chance. */
export const minSecretBytes = 6

/** One encoding of a secret, or of a part of it. */
export interface Form {
  /** The source of the regular expression that finds it. */
  source: string
  /** A text without any of these cannot contain the form. Without anchors, every text must be searched. */
  anchors: readonly string[]
}

const longestWhole = 256
const pieceLength = 128
const minLineLength = 16

/**
 * Lists every form to search for. A long value is searched for in pieces: a leaked part is bad enough. So is
 * each line of a multi-line value, since a program may indent or quote the lines.
 */
export function formsOf(value: string): Form[] {
  const lines = value
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line.length >= minLineLength && !isMonotonous(line))
  const texts = new Set([value, ...lines].flatMap(piecesOf))
  return [...texts].flatMap((text) => [...textForms(text), ...base64Forms(text), hexForm(text)])
}

/** True if a string consists of one or two distinct characters, as rules and indentation do. */
export const isMonotonous = (text: string): boolean => new Set(text).size < 3

function piecesOf(text: string): string[] {
  const characters = [...text]
  if (characters.length <= longestWhole) return [text]
  const count = Math.floor(characters.length / pieceLength)
  const size = Math.ceil(characters.length / count)
  const starts = Array.from({ length: count }, (_, index) => Math.min(index * size, characters.length - size))
  return starts.map((start) => characters.slice(start, start + size).join(''))
}

function textForms(text: string): Form[] {
  const form = (text: string): Form => ({ source: patternOf(text), anchors: anchorsIn([text]) })
  // As a JSON number, 0123456 is written as 123456, and 40 digits are rounded to 17.
  const asNumber = isNumber(text) ? String(Number(text)) : text
  return asNumber !== text && asNumber.length >= minSecretBytes ? [form(text), form(asNumber)] : [form(text)]
}

const isNumber = (text: string): boolean =>
  /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))

/**
 * The pattern of a string. A number of at most 15 digits only matches if no digit stands beside it, since it
 * could be part of any time stamp. The digits of `%20`, `\u0020` and `\x20` do not count as neighbours.
 */
const patternOf = (text: string): string =>
  /^\d{1,15}$/.test(text)
    ? String.raw`(?:(?<!\d)|(?<=%[\dA-Fa-f]\d)|(?<=\\u[\dA-Fa-f]{3}\d)|(?<=\\x[\dA-Fa-f]\d))${text}(?!\d)`
    : tolerant(text)

/** How many leading base64 characters also encode preceding bytes, at an offset of 0, 1 and 2 bytes. */
const sharedAtStart = [0, 2, 3]
/** A character that encodes bits of the value and of a neighbour is removed with the value. */
const shared = '[A-Za-z0-9+/_-]?'
/** In base64 of at least this many characters, a line break may occur. */
const minWrapped = 24
/** PEM breaks lines after 64 characters; mail and the `base64` command after 76. */
const shortestLine = 64
const lineEnd = String.raw`(?:\s|\\{1,7}[nrt]){0,40}`

/**
 * The base64 characters that depend on the value alone, whatever stands before and after it: one form for
 * each of the three offsets at which the value can start in a group of three bytes.
 */
function base64Forms(text: string): Form[] {
  const bytes = Buffer.from(text)
  return sharedAtStart.map((skipped, shift) => {
    const end = Math.floor(((shift + bytes.length) * 8) / 6)
    const core = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(skipped, end)
    const cut = ((shift + bytes.length) * 8) % 6 !== 0
    const around = (source: string): string =>
      (shift > 0 ? shared : '') + source + (cut ? `${shared}={0,2}` : '')
    const characters = [...core].map(base64Character)
    if (core.length < minWrapped) return { source: around(characters.join('')), anchors: anchorsIn([core]) }
    // At most one of the two halves contains a line break.
    const head = core.slice(0, shortestLine)
    const half = Math.floor(head.length / 2)
    return {
      source: around(characters.join(lineEnd)),
      anchors: anchorsIn([head.slice(0, half), head.slice(half)]),
    }
  })
}

/** Matches a base64 character, also in the URL alphabet, escaped in JSON, or URL-encoded. */
function base64Character(character: string): string {
  if (character === '+') return String.raw`(?:[+ -]|\\{1,7}u002[bB]|%(?:25){0,2}2[bB])`
  if (character === '/') return String.raw`(?:\\{0,7}\/|_|\\{1,7}u002[fF]|%(?:25){0,2}2[fF])`
  return character
}

function hexForm(text: string): Form {
  const hex = Buffer.from(text).toString('hex')
  const [anchor = ''] = anchorsIn([hex])
  return { source: anyCase(hex), anchors: [...new Set([anchor, anchor.toUpperCase()])] }
}

const minAnchor = 3
const maxAnchor = 16

/** The longest run of letters and digits in each part: no encoding of a string changes these. */
function anchorsIn(parts: readonly string[]): string[] {
  const runs = parts.map((part) =>
    part
      .split(/[^A-Za-z0-9]+/)
      .reduce((longest, run) => (run.length > longest.length ? run : longest), '')
      .slice(0, maxAnchor),
  )
  return runs.every((run) => run.length >= minAnchor) ? runs : []
}
