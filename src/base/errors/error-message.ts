/** What was thrown, or handed to us as text, in words; never throws, whatever it is. */
export function errorMessage(value: unknown): string {
  try {
    return value instanceof Error ? String(value.message) : String(value)
  } catch {
    // An object without a prototype, or whose toString throws, cannot say what it is.
    return 'something that cannot be written as text'
  }
}
