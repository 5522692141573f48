/** Checks for fields of records that were read from a file and may be torn, damaged or forged. */

export const isString = (value: unknown): value is string => typeof value === 'string'

/** A non-negative safe integer. */
export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0

/** A finite number. */
export const isNumber = (value: unknown): value is number => Number.isFinite(value)

/** A JSON object: not null, not an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Accepts a missing field, or one that passes `check`. */
export const isOptional = (value: unknown, check: (value: unknown) => boolean): boolean =>
  value === undefined || check(value)

/** Parses a JSON object; undefined if the string is not one. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
