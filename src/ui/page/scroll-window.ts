/** A scroller of rows of one height, of which only those in view exist. Lengths are in pixels. */
export interface Scroller {
  rowHeight: number
  viewHeight: number
  rows: number
}

/** Browsers lose positions in higher elements. In a longer list, a pixel of scrolling stands for more. */
const maxHeight = 16_000_000

export const scrollHeightOf = ({ rows, rowHeight }: Scroller): number => Math.min(rows * rowHeight, maxHeight)

/** The rows in view at a scroll position, two more on each side, and where the first of them begins. */
export function rowsInView(
  scrollTop: number,
  scroller: Scroller,
): { first: number; end: number; offset: number } {
  const { rowHeight, viewHeight, rows } = scroller
  const hidden = Math.max(0, scrollHeightOf(scroller) - viewHeight)
  const share = hidden === 0 ? 0 : Math.min(1, Math.max(0, scrollTop / hidden))
  const top = share * Math.max(0, rows * rowHeight - viewHeight)
  const first = Math.max(0, Math.floor(top / rowHeight) - 2)
  const end = Math.min(rows, Math.ceil((top + viewHeight) / rowHeight) + 2)
  return { first, end, offset: first * rowHeight - top }
}

/** The scroll position that shows a row in the middle of the view. */
export function scrollTopOf(row: number, scroller: Scroller): number {
  const { rowHeight, viewHeight, rows } = scroller
  const hidden = Math.max(0, scrollHeightOf(scroller) - viewHeight)
  const top = (row + 0.5) * rowHeight - viewHeight / 2
  const share = top / Math.max(1, rows * rowHeight - viewHeight)
  return Math.min(1, Math.max(0, share)) * hidden
}
