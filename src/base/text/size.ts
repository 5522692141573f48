const letters = 'kmgtp'

/**
 * Parses a size to bytes: `500MB` (10^6), `2GiB` (2^30), `1.5g` (a bare letter is a power of 1024, as in
 * `du`) or plain bytes. Undefined if the string is not a size.
 */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(?: ?(?:b|([kmgtp])(i?b)?))?$/i.exec(text)
  if (match === null) return undefined
  const [, amount = '', letter = '', suffix = ''] = match
  // There are no fractions of bytes: the unit was forgotten.
  if (letter === '' && amount.includes('.')) return undefined
  const power = letter === '' ? 0 : letters.indexOf(letter.toLowerCase()) + 1
  const bytes = Number(amount) * (suffix.toLowerCase() === 'b' ? 1000 : 1024) ** power
  return bytes <= Number.MAX_SAFE_INTEGER ? Math.round(bytes) : undefined
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** Formats bytes for people: `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  let amount = bytes
  let unit = 0
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024
    unit += 1
  }
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`
}
