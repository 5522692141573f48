/** A scroller of groups of rows, of which only the rows in view exist. Lengths are in pixels. */
export interface Scroller {
  rowHeight: number
  viewHeight: number
  groups: number
  /** How many rows all groups have: the length of the scroll bar. */
  rows: number
  /** The rows of a group: at least one, and one while its size is not known. */
  sizeOf: (group: number) => number
  /** Whether a row takes its height of the scroll bar. Else each group takes an equal part of it. */
  isExact: boolean
}

/** Browsers lose positions in higher elements. In a longer list, a pixel of scrolling stands for more. */
const maxHeight = 16_000_000
/** Rows beyond each edge of the view, which are ready when it moves. */
const spareRows = 2

export const scrollHeightOf = ({ rows, rowHeight }: Scroller): number => Math.min(rows * rowHeight, maxHeight)

const hiddenHeightOf = (scroller: Scroller): number =>
  Math.max(0, scrollHeightOf(scroller) - scroller.viewHeight)

/** A row in view, and where it begins. */
export interface RowInView {
  group: number
  row: number
  top: number
}

/**
 * The rows in view at a scroll position. The place at a share of the list stands at the same share of the
 * view: so the list begins and ends with the scroll bar, even where the sizes of most groups are not known.
 */
export function rowsInView(scrollTop: number, scroller: Scroller): RowInView[] {
  const { rowHeight, viewHeight, groups, sizeOf } = scroller
  const hidden = hiddenHeightOf(scroller)
  const share = hidden === 0 ? 0 : Math.min(1, Math.max(0, scrollTop / hidden))
  const [from, end] = [-spareRows * rowHeight, viewHeight + spareRows * rowHeight]
  const place = placeAt(share, scroller)
  let { group } = place
  let top = share * viewHeight - place.row * rowHeight
  while (group > 0 && top > from) top -= sizeOf(--group) * rowHeight
  const rows: RowInView[] = []
  for (; group < groups && top < end; group++) {
    const size = sizeOf(group)
    const first = Math.max(0, Math.ceil((from - top) / rowHeight))
    for (let row = first; row < size && top + row * rowHeight < end; row++)
      rows.push({ group, row, top: top + row * rowHeight })
    top += size * rowHeight
  }
  return rows
}

/** The place at a share of the list: a group, and how many rows of it are above. */
function placeAt(share: number, { groups, rows, sizeOf, isExact }: Scroller): { group: number; row: number } {
  if (!isExact) {
    const group = Math.min(groups - 1, Math.floor(share * groups))
    return { group, row: (share * groups - group) * sizeOf(group) }
  }
  let [group, row] = [0, share * rows]
  while (group < groups - 1 && row >= sizeOf(group)) row -= sizeOf(group++)
  return { group, row }
}

/** The scroll position that shows a row in the middle of the view, or as near to it as there is room. */
export function scrollTopOf(group: number, row: number, scroller: Scroller): number {
  const { rowHeight, viewHeight, groups, sizeOf, isExact } = scroller
  const hidden = hiddenHeightOf(scroller)
  const wanted = viewHeight / 2
  if (isExact) {
    let above = row
    for (let before = 0; before < group; before++) above += sizeOf(before)
    return Math.min(hidden, Math.max(0, (above + 0.5) * rowHeight - wanted))
  }
  // The row moves up as the share grows. In view, at most a screen of groups is between it and the place.
  const reach = Math.ceil(viewHeight / rowHeight) + 1
  let [low, high] = [Math.max(0, group - reach) / groups, Math.min(groups, group + 1 + reach) / groups]
  for (let step = 0; step < 40; step++) {
    const share = (low + high) / 2
    const place = placeAt(share, scroller)
    let above = row - place.row
    for (let each = place.group; each < group; each++) above += sizeOf(each)
    for (let each = group; each < place.group; each++) above -= sizeOf(each)
    if (share * viewHeight + (above + 0.5) * rowHeight > wanted) low = share
    else high = share
  }
  return low * hidden
}
