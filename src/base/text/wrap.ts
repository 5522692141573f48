import { eastAsianWidth } from 'get-east-asian-width'

/** The columns of a string on a terminal: 2 for a CJK character or an emoji, 0 for a combining mark. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  return graphemesOf(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0)
}

/** Cuts a string that is wider than `columns`, at its end or in its middle; an ellipsis shows where. */
export function truncate(text: string, columns: number, where: 'end' | 'middle' = 'end'): string {
  if (displayWidth(text) <= columns) return text
  const graphemes = graphemesOf(text)
  const room = Math.max(0, columns - 1)
  if (where === 'end') return `${takeColumns(graphemes, room)}…`
  const tail = takeColumns(graphemes.toReversed(), Math.floor(room / 2), true)
  return `${takeColumns(graphemes, room - displayWidth(tail))}…${tail}`
}

/** The first graphemes that fit into this many columns, in the order of the text. */
function takeColumns(graphemes: readonly string[], columns: number, isReversed = false): string {
  let room = columns
  const end = graphemes.findIndex((grapheme) => (room -= graphemeWidth(grapheme)) < 0)
  const fitting = end < 0 ? graphemes : graphemes.slice(0, end)
  return (isReversed ? fitting.toReversed() : fitting).join('')
}

/** Characters that join their neighbours: marks, joiners, conjoining Jamo, halves of flags, skin tones. */
// Made only where it is needed: Node takes almost 1 ms to build such a class of characters.
const joining = (): RegExp => /[\p{M}\p{RI}\p{Emoji_Modifier}\u200d\u1160-\u11ff]/u

let segmenter: Intl.Segmenter | undefined

/** The characters of a string as a reader counts them. */
function graphemesOf(text: string): string[] {
  if (!joining().test(text)) return [...text]
  // Made only where it is needed: its rules take more than 10 ms to load.
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

function graphemeWidth(grapheme: string): number {
  if (/^[\p{M}\p{Cc}\p{Cf}]+$/u.test(grapheme)) return 0
  // A flag is two letters, and an emoji style selector follows a narrow symbol.
  if (/^\p{RI}{2}|\ufe0f/u.test(grapheme)) return 2
  return eastAsianWidth(grapheme.codePointAt(0) ?? 0)
}

/**
 * Breaks a string between words into lines of at most `columns` columns. A longer word stays whole. Lines
 * after the first are indented by `hanging` columns.
 */
export function wrap(text: string, columns: number, hanging = 0): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line === '' || displayWidth(longer) <= columns) line = longer
    else {
      lines.push(line)
      line = ' '.repeat(hanging) + word
    }
  }
  return [...lines, line]
}

/** Wraps each line of a text; a line that is continued keeps its indentation, or gets two columns. */
export function wrapLines(text: string, columns: number): string {
  if (text.length <= columns) return text
  return text
    .split('\n')
    .flatMap((line) => {
      const [indent = ''] = /^ */.exec(line) ?? []
      const hanging = indent === '' ? 2 : 0
      return wrap(line.slice(indent.length), columns - indent.length, hanging).map(
        (wrapped) => indent + wrapped,
      )
    })
    .join('\n')
}
