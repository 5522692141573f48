import type { Node } from 'jsonc-parser'
import { StintError } from '../../base/errors/stint-error.ts'
import { hasComment, parseJson, propertyOf } from './parse-settings.ts'

// Edits of one property of a JSON file with comments. Every byte outside of that property stays: comments,
// order, blanks, line ends. (jsonc-parser's own `modify` reformats the lines around.)

/** Replaces the value of a property of the file's object, or adds the property at its end. */
export function setProperty(text: string, name: string, value: unknown): string {
  const root = parseJson(text)
  const layout = layoutOf(text, root)
  const json = format(value, layout)
  const present = propertyOf(root, name)
  if (present !== undefined) {
    const [from, to] = [present.offset, endOf(present)]
    if (!hasComment(text.slice(from, to))) return splice(text, from, to, json)
    throw new StintError('SETTINGS_INVALID', `\`${name}\` has a comment in it, which would be lost`, {
      hint: 'Move the comment before it.',
    })
  }
  const item = `${JSON.stringify(name)}:${layout.compact ? '' : ' '}${json}`
  const close = endOf(root) - 1
  const end = blanksBefore(text, close)
  const last = root.children?.at(-1)
  const line = layout.compact ? item : `${layout.eol}${layout.unit}${item}`
  if (last === undefined) {
    // An object with only a comment keeps its closing line.
    const isBare = text.slice(root.offset + 1, close).trim() === ''
    return isBare ? splice(text, end, close, `${line}${layout.eol}`) : splice(text, end, end, line)
  }
  if (commaAfter(text, endOf(last)) !== undefined) return splice(text, end, end, `${line},`)
  return splice(splice(text, end, end, line), endOf(last), endOf(last), ',')
}

/** Removes a property of the file's object, with its comma and its line. */
export function removeProperty(text: string, name: string): string {
  const root = parseJson(text)
  const property = propertyOf(root, name)?.parent
  if (property === undefined) return text
  const siblings = root.children ?? []
  const from = blanksBefore(text, property.offset)
  const comma = commaAfter(text, endOf(property))
  if (siblings.length === 1) {
    const to = comma ?? endOf(property)
    const close = endOf(root) - 1
    // An empty object without a comment becomes `{}`.
    const isBare = text.slice(root.offset + 1, from).trim() === '' && text.slice(to, close).trim() === ''
    return splice(text, from, isBare ? close : to)
  }
  if (comma !== undefined) return splice(text, from, comma)
  const before = siblings[siblings.indexOf(property) - 1] ?? property
  const commaBefore = commaAfter(text, endOf(before)) ?? from
  return splice(splice(text, from, endOf(property)), commaBefore - 1, commaBefore)
}

const splice = (text: string, from: number, to: number, insert = ''): string =>
  text.slice(0, from) + insert + text.slice(to)

const endOf = (node: Node): number => node.offset + node.length

/** The start of the blanks before an offset. */
function blanksBefore(text: string, offset: number): number {
  let at = offset
  while (at > 0 && /\s/.test(text.charAt(at - 1))) at -= 1
  return at
}

/** The offset after the next comma, past blanks and comments; undefined if another token comes first. */
function commaAfter(text: string, offset: number): number | undefined {
  const match = /^(?:\s|\/\/[^\n]*\n|\/\*(?:(?!\*\/)[^])*\*\/)*,/.exec(text.slice(offset))
  return match === null ? undefined : offset + match[0].length
}

/** The layout of a file, which insertions follow. */
interface Layout {
  eol: string
  /** One level of indentation. */
  unit: string
  /** The whole file is one line. */
  compact: boolean
}

function layoutOf(text: string, { children: [first] = [] }: Node): Layout {
  const line =
    first === undefined ? '' : text.slice(text.lastIndexOf('\n', first.offset - 1) + 1, first.offset)
  return {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    unit: /^[ \t]+$/.test(line) ? line : '  ',
    compact: first !== undefined && !text.trim().includes('\n'),
  }
}

const format = (value: unknown, { unit, eol, compact }: Layout): string =>
  compact ? JSON.stringify(value) : JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${unit}`)
