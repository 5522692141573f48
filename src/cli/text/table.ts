import { displayWidth, truncate } from '../../base/text/display-width.ts'
import { visibleText } from '../../base/text/escape.ts'
import { shortPath } from './format.ts'

/**
 * Lines of aligned columns under their titles. A column that is empty in every row is left out. A title that
 * begins with `>` stands over amounts, which are aligned on the right.
 */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const columns = titles.flatMap((title, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    return cells.every((cell) => cell === '') ? [] : [alignColumn(title, cells)]
  })
  return ['', ...rows].map((_, line) =>
    columns
      .map((column) => column[line] ?? '')
      .join('  ')
      .trimEnd(),
  )
}

/** The title of a column and its cells, padded to the same width. */
function alignColumn(title: string, cells: readonly string[]): string[] {
  const isAmount = title.startsWith('>')
  const column = [isAmount ? title.slice(1) : title, ...cells]
  const widths = column.map(displayWidth)
  const width = Math.max(...widths)
  return column.map((cell, line) => {
    const padding = ' '.repeat(width - (widths[line] ?? 0))
    return isAmount ? padding + cell : cell + padding
  })
}

/** An untrusted string as a cell of a table, at most `columns` wide. */
export const cell = (text: string | null, columns: number): string =>
  truncate(visibleText(text ?? ''), columns)

/** A path as a cell of a table. Of a long path the end is shown, which says more. */
export const pathCell = (path: string | null, columns: number): string =>
  truncate(visibleText(shortPath(path ?? '')), columns, 'end')
