import { displayWidth } from './display-width.ts'

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
