import { visibleText } from '../../base/text/escape.ts'
import { shortPath } from './short-path.ts'

/** Enough for any line that makes sense: others write what is in it. */
export const lineLength = 2000

/** A text of somebody else, in a cell of a table. */
export function cell(text: string | null, width: number): string {
  const visible = visibleText(text ?? '', lineLength)
  return visible.length > width ? `${visible.slice(0, width - 1)}…` : visible
}

/** A path as people write it; of a long one the end tells more. */
export function pathCell(path: string | null, width: number): string {
  const visible = visibleText(shortPath(path ?? ''), lineLength)
  return visible.length > width ? `…${visible.slice(1 - width)}` : visible
}
