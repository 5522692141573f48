import type { Node } from 'jsonc-parser'
import { type JsonPath, nodeAt, parseJson } from './parse-settings.ts'

/**
 * Edits of JSON with comments that keep every other byte: comments, order, blanks, line ends. Removing an
 * appended value restores the file. (jsonc-parser's own `modify` does not: it reformats.)
 */

/** Appends a value to the array at `path`, and creates the missing part of the path. */
export function append(text: string, path: JsonPath, value: unknown): string {
  const root = parseJson(text)
  // The deepest existing container gets the rest of the path as one new value.
  let depth = path.length
  while (nodeAt(root, path.slice(0, depth)) === undefined) depth -= 1
  const container = nodeAt(root, path.slice(0, depth)) ?? root
  if (depth === path.length) return insert(text, root, container, undefined, value)
  const branch = path.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), [value])
  return insert(text, root, container, String(path[depth]), branch)
}

/** Adds a property to an object. */
export function addProperty(text: string, path: JsonPath, name: string, value: unknown): string {
  const root = parseJson(text)
  return insert(text, root, nodeAt(root, path) ?? root, name, value)
}

/** Replaces a value in place. */
export function replaceAt(text: string, path: JsonPath, value: unknown): string {
  const root = parseJson(text)
  const node = nodeAt(root, path)
  if (node === undefined) return text
  const layout = layoutOf(text, root)
  const inOneLine = layout.compact || !text.slice(node.offset, endOf(node)).includes('\n')
  const now = format(value, { ...layout, compact: inOneLine }, indentBefore(text, node.offset))
  return splice(text, [{ from: node.offset, to: endOf(node), insert: now }])
}

/** Removes an array item or a property, with its comma and its line. */
export function removeAt(text: string, path: JsonPath): string {
  const root = parseJson(text)
  const value = nodeAt(root, path)
  const node = value?.parent?.type === 'property' ? value.parent : value
  const siblings = node?.parent?.children
  if (node === undefined || siblings === undefined) return text
  const index = siblings.indexOf(node)
  const comma = commaAfter(text, endOf(node))
  const from = blanksBefore(text, node.offset)
  if (siblings.length === 1) {
    const to = comma ?? endOf(node)
    const [open, close] = [node.parent?.offset ?? 0, endOf(node.parent ?? root) - 1]
    // An empty container without a comment becomes `[]` or `{}`.
    const bare = text.slice(open + 1, from).trim() === '' && text.slice(to, close).trim() === ''
    return splice(text, [{ from, to: bare ? close : to }])
  }
  if (comma !== undefined) {
    const inline = !text.slice(from, node.offset).includes('\n')
    return splice(text, [
      { from: inline ? node.offset : from, to: inline ? blanksAfter(text, comma) : comma },
    ])
  }
  const commaOfBefore = commaAfter(text, endOf(siblings[index - 1] ?? node)) ?? from
  return splice(text, [
    { from: commaOfBefore - 1, to: commaOfBefore },
    { from, to: endOf(node) },
  ])
}

function insert(text: string, root: Node, container: Node, name: string | undefined, value: unknown): string {
  const layout = layoutOf(text, root)
  const close = endOf(container) - 1
  const last = container.children?.at(-1)
  const inOneLine =
    layout.compact || (last !== undefined && !text.slice(container.offset, close).includes('\n'))
  const outer = indentBefore(text, container.offset)
  const indent = last === undefined || inOneLine ? outer + layout.unit : indentBefore(text, last.offset)
  const key = name === undefined ? '' : `${JSON.stringify(name)}:${layout.compact ? '' : ' '}`
  const item = key + format(value, { ...layout, compact: inOneLine }, indent)
  const at = blanksBefore(text, close)
  if (last === undefined) {
    if (inOneLine) return splice(text, [{ from: at, to: at, insert: item }])
    const line = `${layout.eol}${indent}${item}`
    // A container with a comment keeps its closing line.
    const bare = text.slice(container.offset + 1, close).trim() === ''
    return splice(text, [
      { from: at, to: bare ? close : at, insert: bare ? `${line}${layout.eol}${outer}` : line },
    ])
  }
  const trailing = commaAfter(text, endOf(last)) !== undefined
  const line = inOneLine ? `${layout.compact ? '' : ' '}${item}` : `${layout.eol}${indent}${item}`
  return splice(text, [
    ...(trailing ? [] : [{ from: endOf(last), to: endOf(last), insert: ',' }]),
    { from: at, to: at, insert: trailing ? `${line},` : line },
  ])
}

interface Splice {
  from: number
  to: number
  insert?: string
}

/** Applies splices, given in ascending order, from the last to the first. */
function splice(text: string, splices: readonly Splice[]): string {
  let result = text
  for (const { from, to, insert = '' } of splices.toReversed())
    result = result.slice(0, from) + insert + result.slice(to)
  return result
}

const endOf = (node: Node): number => node.offset + node.length

/** The start of the blanks before an offset. */
function blanksBefore(text: string, offset: number): number {
  let at = offset
  while (at > 0 && /\s/.test(text.charAt(at - 1))) at -= 1
  return at
}

function blanksAfter(text: string, offset: number): number {
  let at = offset
  while (/[ \t]/.test(text.charAt(at))) at += 1
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

function layoutOf(text: string, root: Node): Layout {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const first = root.children?.[0]
  const unit = first === undefined ? '' : indentBefore(text, first.offset)
  const compact = (root.children?.length ?? 0) > 0 && !text.trim().includes('\n')
  return { eol, unit: unit === '' ? '  ' : unit, compact }
}

/** The indentation of the line that contains this offset. */
function indentBefore(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? ''
}

/** Formats a value; `indent` starts every line after the first. */
function format(value: unknown, { unit, eol, compact }: Layout, indent: string): string {
  if (compact) return JSON.stringify(value)
  return JSON.stringify(value, null, unit).replaceAll('\n', `${eol}${indent}`)
}
