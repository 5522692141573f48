import { types } from 'node:util'
import { StintError } from '../errors/stint-error.ts'
import { visibleText } from './escape.ts'

/**
 * Returns the JSON of a value that reads back as it was. `ARG_ERROR` if JSON would change a part of it: the
 * message names the path of that part, which begins with `name`. As everywhere, `toJSON` is honoured, and
 * properties that are undefined are left out.
 *
 * Plain data, which is nearly all there is, is looked through and then encoded without a replacer: that costs
 * 1.0 to 1.3 times as much as `JSON.stringify` alone, and a replacer costs 1.5 to 3 times as much.
 */
export function exactJson(value: unknown, name: string): string {
  try {
    return isPlain(value, 'undefined') ? JSON.stringify(value) : encodeChecked(value, name)
  } catch (cause) {
    // Too deep for the stack, or longer than a string can be: 512 MB.
    if (!(cause instanceof RangeError)) throw cause
    throw new StintError('ARG_ERROR', `${name} cannot be written as JSON: ${cause.message}`, {
      cause,
      hint: 'Store it in parts, or in a file of your own.',
    })
  }
}

/** Deeper values are encoded with a replacer, which finds cycles. */
const maxPlainDepth = 100

/**
 * Does the value consist of finite numbers, strings, booleans, null, arrays and plain objects only? `leftOut`
 * says which properties JSON may leave out: those that are undefined, or none.
 */
export function isPlain(value: unknown, leftOut: 'undefined' | 'nothing', depth = 0): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth > maxPlainDepth || 'toJSON' in value) return false
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], leftOut, depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key]
    if (part === undefined ? leftOut === 'nothing' : !isPlain(part, leftOut, depth + 1)) return false
  }
  return true
}

/** Checks and encodes in one walk, so that what a `toJSON` or a getter returned is what was checked. */
function encodeChecked(value: unknown, name: string): string {
  /** The objects from the outermost to the one whose properties are encoded, each with its own key. */
  const around: { object: object; key: string }[] = []
  function check(this: object, key: string, part: unknown): unknown {
    while (around.length > 0 && around.at(-1)?.object !== this) around.pop()
    const fault = faultOf(part, around)
    if (fault !== undefined)
      throw new StintError('ARG_ERROR', `${pathOf(name, around, key)} is ${fault}, which JSON cannot keep`, {
        hint: 'Convert it first: JSON has strings, finite numbers, booleans, null, arrays and plain objects.',
      })
    if (typeof part === 'object' && part !== null) around.push({ object: part, key })
    return part
  }
  return JSON.stringify(value, check)
}

/** Says what a part of a value is, if JSON would drop or change it. */
function faultOf(part: unknown, around: readonly { object: object }[]): string | undefined {
  switch (typeof part) {
    case 'function':
    case 'symbol':
      return `a ${typeof part}`
    case 'bigint':
      return 'a BigInt'
    case 'number':
      return Number.isFinite(part) ? undefined : String(part)
    case 'undefined':
      // A property that is undefined is left out, but an element of an array would become null.
      return around.length === 0 || Array.isArray(around.at(-1)?.object) ? 'undefined' : undefined
    case 'object':
      if (part === null) return undefined
      return around.some(({ object }) => object === part) ? 'a part of itself' : lossyObject(part)
  }
  return undefined
}

/** The kind of an object whose contents are not in its properties, such as a Map. */
function lossyObject(object: object): string | undefined {
  const isLossy =
    types.isMap(object) ||
    types.isSet(object) ||
    types.isWeakMap(object) ||
    types.isWeakSet(object) ||
    types.isRegExp(object) ||
    types.isNativeError(object) ||
    types.isPromise(object) ||
    types.isAnyArrayBuffer(object) ||
    types.isBoxedPrimitive(object) ||
    ArrayBuffer.isView(object)
  return isLossy ? `of the type ${Object.prototype.toString.call(object).slice(8, -1)}` : undefined
}

/** The path of the part at `key` of the innermost object, as a program would write it. */
function pathOf(name: string, around: readonly { object: object; key: string }[], key: string): string {
  // The first object is the value itself: its own key is empty.
  const keys = [...around.map((outer) => outer.key).slice(1), key].slice(0, around.length)
  const path = keys.map((part, i) => {
    if (Array.isArray(around[i]?.object)) return `[${part}]`
    return /^[a-z_$][\w$]*$/i.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`
  })
  return visibleText(name + path.join(''), 200)
}
