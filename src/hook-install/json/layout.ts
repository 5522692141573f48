import type { Node } from 'jsonc-parser'

/** How a text is laid out, so that what is added looks like the rest of it. */
export interface Layout {
  eol: string
  /** One step of indentation. */
  unit: string
  /** All in one line: what is added goes there, too. */
  compact: boolean
}

export function layoutOf(text: string, root: Node): Layout {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const first = root.children?.[0]
  const unit = first === undefined ? '' : indentBefore(text, first.offset)
  const compact = (root.children?.length ?? 0) > 0 && !text.trim().includes('\n')
  return { eol, unit: unit === '' ? '  ' : unit, compact }
}

/** The blanks at the beginning of the line that this place is in. */
export function indentBefore(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? ''
}

/** A value as text whose further lines begin with `indent`. */
export function written(value: unknown, { unit, eol, compact }: Layout, indent: string): string {
  if (compact) return JSON.stringify(value)
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)
}
