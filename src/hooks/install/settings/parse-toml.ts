import { parse, TomlError } from 'smol-toml'
import { StintError } from '../../../base/errors/stint-error.ts'
import type { JsonObject } from '../json/parse.ts'

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
