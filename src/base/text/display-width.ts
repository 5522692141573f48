import { eastAsianWidth } from 'get-east-asian-width'

/** The columns of a string on a terminal: 2 for a CJK character or an emoji, 0 for a combining mark. */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  return graphemesOf(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0)
}

/** Cuts a string that is wider than `columns`, with an ellipsis in place of what is missing. */
export function truncate(text: string, columns: number, keep: 'start' | 'end' = 'start'): string {
  if (displayWidth(text) <= columns) return text
  const graphemes = keep === 'start' ? graphemesOf(text) : graphemesOf(text).toReversed()
  const kept: string[] = []
  let room = columns - 1
  for (const grapheme of graphemes) {
    room -= graphemeWidth(grapheme)
    if (room < 0) break
    kept.push(grapheme)
  }
  return keep === 'start' ? `${kept.join('')}…` : `…${kept.toReversed().join('')}`
}

/** Characters that join their neighbours: marks, joiners, conjoining Jamo, halves of flags, skin tones. */
const joining = /[\p{M}\p{RI}\p{Emoji_Modifier}\u200d\u1160-\u11ff]/u

let segmenter: Intl.Segmenter | undefined

/** The characters of a string as a reader counts them. */
function graphemesOf(text: string): string[] {
  if (!joining.test(text)) return [...text]
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
