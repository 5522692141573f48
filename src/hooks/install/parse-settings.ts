import {
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
  stripComments,
} from 'jsonc-parser'
import { parse, TomlError } from 'smol-toml'
import { StintError } from '../../base/errors/stint-error.ts'
import { decode, readSettingsFile } from './settings-file.ts'

/** Parses JSON with comments and trailing commas into a tree with offsets; throws `SETTINGS_INVALID`. */
export function parseJson(text: string): Node {
  const errors: ParseError[] = []
  const root = parseNested(text, errors)
  const [error] = errors
  if (root !== undefined && error === undefined) return root
  const at = positionOf(text, error?.offset ?? 0)
  const what = error === undefined ? 'it is empty' : printParseErrorCode(error.error)
  throw new StintError(
    'SETTINGS_INVALID',
    `not valid JSON: ${what} in line ${at.line}, column ${at.column}`,
    {
      detail: `line=${at.line} column=${at.column}`,
    },
  )
}

function parseNested(text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true, disallowComments: false })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new StintError('SETTINGS_INVALID', 'it is nested too deeply', { cause: error })
  }
}

/** The value of a property; the last one if its name occurs twice, as in `JSON.parse`. */
export const propertyOf = (node: Node | undefined, name: string): Node | undefined =>
  node?.type === 'object'
    ? node.children?.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1]
    : undefined

/** True if the text has a comment, which is its user's. */
export const hasComment = (text: string): boolean => stripComments(text) !== text

function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

type JsonObject = Record<string, unknown>

/** The value if it is an object, else an empty object. */
export const objectOr = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null ? (value as JsonObject) : {}

/** Parses TOML; throws `SETTINGS_INVALID` with line and column. */
export function parseToml(text: string): JsonObject {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.split('\n')
    const { line, column } = error
    throw new StintError('SETTINGS_INVALID', `${reason} in line ${line}, column ${column}`, {
      detail: `line=${line} column=${column}`,
      cause: error,
    })
  }
}

/** The JSON of a settings file; empty if it cannot be read, which `inspect` reports. */
export function readSettingsJson(path: string): JsonObject {
  try {
    return objectOr(getNodeValue(parseJson(decode(readSettingsFile(path).bytes))))
  } catch {
    return {}
  }
}
