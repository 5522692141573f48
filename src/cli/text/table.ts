import { displayWidth, truncate } from '../../base/text/wrap.ts'
import { visibleText } from '../../base/text/escape.ts'

/** A column of a table, and what becomes of it where there is too little room. */
export interface Column<Row> {
  title: string
  /** The cell of a row. The table makes untrusted strings safe to print. */
  cell: (row: Row) => string | number | null
  /** Amounts are aligned on the right. */
  align?: 'left' | 'right'
  /** Where cells are cut: ids and paths in the middle, prose at the end. Without it, none is cut. */
  cut?: 'end' | 'middle'
  /** The narrowest width to which cells are cut, in columns. */
  least?: number
  /** Columns with a number are left out if cutting is not enough, the one with the lowest number first. */
  spare?: number
}

/** Cells are as long as a path can be. */
const maxCellChars = 5000
const gap = 2

/**
 * Rows of aligned columns under their titles, each at most `width` columns wide. Where there is too little
 * room, cells are cut, first in the column that is furthest above its least width, and then columns are left
 * out. A column that is empty in every row is left out, too. Without rows, there are no lines.
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width: number = Number.POSITIVE_INFINITY,
): string[] {
  if (rows.length === 0) return []
  const filled = columns.map((column) => fill(column, rows)).filter(({ isEmpty }) => !isEmpty)
  const aligned = fitColumns(filled, width).map(align)
  return ['', ...rows].map((_, line) =>
    truncate(
      aligned
        .map((cells) => cells[line] ?? '')
        .join(' '.repeat(gap))
        .trimEnd(),
      width,
    ),
  )
}

interface FilledColumn {
  /** The title, and a cell for each row. */
  cells: string[]
  widths: number[]
  width: number
  /** By how many columns its cells may be cut. */
  slack: number
  spare: number | undefined
  cut: 'end' | 'middle'
  isRight: boolean
  isEmpty: boolean
}

function fill<Row>({ title, cell, align, cut, least = 8, spare }: Column<Row>, rows: readonly Row[]) {
  const cells = [title, ...rows.map((row) => visibleText(String(cell(row) ?? ''), maxCellChars))]
  const widths = cells.map(displayWidth)
  const width = widths.reduce((widest, next) => Math.max(widest, next), 0)
  return {
    cells,
    widths,
    width,
    slack: cut === undefined ? 0 : Math.max(0, width - Math.max(least, widths[0] ?? 0)),
    spare,
    cut: cut ?? 'end',
    isRight: align === 'right',
    isEmpty: cells.every((text, line) => line === 0 || text === ''),
  } satisfies FilledColumn
}

/** The columns that are shown, as wide as they are then. */
function fitColumns(columns: readonly FilledColumn[], room: number): FilledColumn[] {
  const fitted = columns.map((column) => ({ ...column }))
  const excess = (): number =>
    fitted.reduce((sum, { width }) => sum + width, gap * Math.max(0, fitted.length - 1)) - room
  for (let over = excess(); over > 0; over -= 1) {
    const [loosest] = fitted.filter(({ slack }) => slack > 0).sort((a, b) => b.slack - a.slack)
    if (loosest === undefined) break
    loosest.slack -= 1
    loosest.width -= 1
  }
  if (excess() <= 0) return fitted
  const spares = columns.flatMap(({ spare }) => spare ?? [])
  const first = Math.min(...spares)
  return spares.length === 0
    ? fitted
    : fitColumns(
        columns.filter(({ spare }) => spare !== first),
        room,
      )
}

function align({ cells, widths, width, cut, isRight }: FilledColumn): string[] {
  return cells.map((text, line) => {
    const isTooWide = (widths[line] ?? 0) > width
    const shown = isTooWide ? truncate(text, width, cut) : text
    const padding = ' '.repeat(Math.max(0, width - (isTooWide ? displayWidth(shown) : (widths[line] ?? 0))))
    return isRight ? padding + shown : shown + padding
  })
}
