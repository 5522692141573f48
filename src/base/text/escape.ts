/** Quotes a string as one word of a POSIX shell; a plain word stays as it is. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/**
 * Makes a string from an untrusted source, such as a file name, safe to print: characters that a terminal
 * would obey or hide become `\u` escapes, and the string is cut off after `maxLength` characters.
 */
export function visibleText(text: string, maxLength = 300): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return short.replaceAll(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
}
