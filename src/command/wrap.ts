export type Row = readonly [left: string, right: string]

/** What a text beside something must have for itself to be easy to read. */
const leastText = 30

/** A text in lines of at most `width` columns, broken between words; a word that is longer stays whole. Lines after the first are set in. */
export function wrap(text: string, width: number, setIn = 0): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line === '' || longer.length <= width) line = longer
    else {
      lines.push(line)
      line = ' '.repeat(setIn) + word
    }
  }
  return [...lines, line]
}

/** Rows of two columns, the second of which goes on below itself. Beside a first one that is too long for that, it begins on the next line. */
export function columns(rows: readonly Row[], width: number): string[] {
  const lengths = rows.map(([left]) => left.length + gap)
  const column = Math.max(setInBelow, ...lengths.filter((length) => width - length >= leastText))
  return rows.flatMap(([left, right]) => {
    const [first = '', ...others] = wrap(right, width - column)
    const below = (line: string): string => ' '.repeat(column) + line
    if (left.length + gap > column) return [left, below(first), ...others.map(below)]
    return [left.padEnd(column) + first, ...others.map(below)]
  })
}

const gap = 2
const setInBelow = 4
