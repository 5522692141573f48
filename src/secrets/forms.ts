import { anyCase, tolerant } from './tolerant.ts'

/** Shorter values are found everywhere by chance. */
export const minSecretBytes = 6

/** One way in which a secret may be written. */
export interface Form {
  /** Source of the regular expression that finds it. */
  source: string
  /** It cannot be where none of these is; without any, it must always be looked for. */
  anchors: readonly string[]
}

const longestWhole = 256
const pieceLength = 128
const minLineLength = 16

/**
 * Every way in which a value is looked for. A long one in pieces, each on its own: a part of it is bad enough. Of one
 * with several lines, each line as well, for they may be indented or quoted.
 */
export function formsOf(value: string): Form[] {
  const lines = value
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line.length >= minLineLength && !isMonotonous(line))
  const texts = new Set([value, ...lines].flatMap(piecesOf))
  return [...texts].flatMap((text) => [...textForms(text), ...base64Forms(text), hexForm(text)])
}

/** Made of one or two characters, as rules and indentation are. */
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
  const form = (text: string): Form => ({ source: apart(text), anchors: anchorsIn([text]) })
  // As a number, 0123456 is written 123456, and 40 digits become 17.
  const asNumber = isNumber(text) ? String(Number(text)) : text
  return asNumber !== text && asNumber.length >= minSecretBytes ? [form(text), form(asNumber)] : [form(text)]
}

const isNumber = (text: string): boolean =>
  /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))

/**
 * A short number is only meant where no digit stands beside it: else every time stamp might hold one. The digits of `%20`, `\u0020` and `\x20` belong to a
 * character of their own.
 */
const apart = (text: string): string =>
  /^\d{1,15}$/.test(text)
    ? String.raw`(?:(?<!\d)|(?<=%[\dA-Fa-f]\d)|(?<=\\u[\dA-Fa-f]{3}\d)|(?<=\\x[\dA-Fa-f]\d))${text}(?!\d)`
    : tolerant(text)

/** Characters that are shared with what stands before the value, when 0, 1 or 2 bytes of it are in the same group of three. */
const sharedAtStart = [0, 2, 3]
/** One that has a few bits of the value is taken out with it. */
const shared = '[A-Za-z0-9+/_-]?'
/** From here on a line may end within it. */
const minWrapped = 24
/** PEM has lines of 64 characters, mail and the `base64` command of 76. */
const shortestLine = 64
const lineEnd = String.raw`(?:\s|\\{1,7}[nrt]){0,40}`

/** What is the same in base64 whatever stands before and after the value: one text for each of the three places it may begin at. */
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
    // A line ends in one of the two at most.
    const head = core.slice(0, shortestLine)
    const half = Math.floor(head.length / 2)
    return {
      source: around(characters.join(lineEnd)),
      anchors: anchorsIn([head.slice(0, half), head.slice(half)]),
    }
  })
}

/** Also in the alphabet for URLs, or URL-encoded. */
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

/** The longest run of letters and digits in each part: no encoding of text changes these. */
function anchorsIn(parts: readonly string[]): string[] {
  const runs = parts.map((part) =>
    part
      .split(/[^A-Za-z0-9]+/)
      .reduce((longest, run) => (run.length > longest.length ? run : longest), '')
      .slice(0, maxAnchor),
  )
  return runs.every((run) => run.length >= minAnchor) ? runs : []
}
