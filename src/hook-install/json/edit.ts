import type { Node } from 'jsonc-parser'
import { indentBefore, layoutOf, written } from './layout.ts'
import { type JsonPath, nodeAt, parseJson } from './parse.ts'

/**
 * Changes to a JSON text that leave every other byte of it as it is: comments, order, blanks, line ends. Taking away what was appended
 * gives the text from before.
 */

/** Puts a value at the end of the array at `path`; what of the path is not there yet is made. */
export function append(text: string, path: JsonPath, value: unknown): string {
  const root = parseJson(text)
  // The deepest that is there gets the rest of the path as one new value.
  let known = path.length
  while (nodeAt(root, path.slice(0, known)) === undefined) known -= 1
  const container = nodeAt(root, path.slice(0, known)) ?? root
  if (known === path.length) return insert(text, root, container, undefined, value)
  const missing = path.slice(known + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), [value])
  return insert(text, root, container, String(path[known]), missing)
}

/** Gives an object one more property. */
export function addProperty(text: string, path: JsonPath, name: string, value: unknown): string {
  const root = parseJson(text)
  return insert(text, root, nodeAt(root, path) ?? root, name, value)
}

/** Puts another value in the place of one. */
export function replaceAt(text: string, path: JsonPath, value: unknown): string {
  const root = parseJson(text)
  const node = nodeAt(root, path)
  if (node === undefined) return text
  const layout = layoutOf(text, root)
  const inOneLine = layout.compact || !text.slice(node.offset, endOf(node)).includes('\n')
  const now = written(value, { ...layout, compact: inOneLine }, indentBefore(text, node.offset))
  return splice(text, [{ from: node.offset, to: endOf(node), insert: now }])
}

/** Takes away an item of an array or a property of an object, with the comma and the line it came with. */
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
    // Without a comment in it, an empty one is `[]`.
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
  const item = key + written(value, { ...layout, compact: inOneLine }, indent)
  const at = blanksBefore(text, close)
  if (last === undefined) {
    if (inOneLine) return splice(text, [{ from: at, to: at, insert: item }])
    const line = `${layout.eol}${indent}${item}`
    // With a comment in it, it ends as it did.
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

/** Given in the order of their places, done from the last. */
function splice(text: string, splices: readonly Splice[]): string {
  let result = text
  for (const { from, to, insert = '' } of splices.toReversed())
    result = result.slice(0, from) + insert + result.slice(to)
  return result
}

const endOf = (node: Node): number => node.offset + node.length

/** Where the blanks before this place begin. */
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

/** The place after the comma that follows, past blanks and comments; undefined if something else does. */
function commaAfter(text: string, offset: number): number | undefined {
  const found = /^(?:\s|\/\/[^\n]*\n|\/\*(?:(?!\*\/)[^])*\*\/)*,/.exec(text.slice(offset))
  return found === null ? undefined : offset + found[0].length
}
