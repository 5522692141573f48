/** Quotes a string as one word of a POSIX shell; a plain word stays as it is. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/**
 * Makes a string from an untrusted source, such as a file name, safe to print: characters that a terminal
 * would obey or hide become `\u` escapes, and the string is cut off after `maxLength` characters.
 */
export const visibleText = (text: string, maxLength = 2000): string =>
  text.length > maxLength ? `${visible(text.slice(0, maxLength))}…` : visible(text)

const visible = (text: string): string => (plain.test(text) ? text : text.replaceAll(unseen(), escaped))

/** ASCII, Latin letters, quotation marks and dashes: most texts have no others, and need no `unseen`. */
const plain = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u017f\u2010-\u2027]*$/

/** Like `visibleText` for a message of any length: its line ends and tabs stay. */
export const visibleLines = (text: string): string =>
  text.replaceAll(unseen(), (char) => (char === '\n' || char === '\t' ? char : escaped(char)))

/**
 * Makes the rendered answer of a command safe to print, in case it quotes others: colours, line ends and tabs
 * stay, and any other control character is escaped, as is one that reverses text.
 */
export const visibleAnswer = (text: string): string =>
  text.replaceAll(inAnswer(), (match: string, harmless: string | undefined) => harmless ?? escaped(match))

// Without classes of Unicode, which take longer to build than the text of most commands takes to print.
const inAnswer = (): RegExp =>
  // oxlint-disable-next-line no-control-regex -- a colour is an escape sequence
  /(\u001b\[[\d;]*m|\r?\n|\t)|[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * A value as JSON in one line, safe to print: `JSON.stringify` escapes only the control characters below
 * U+0020, and a terminal also obeys those from U+007F on and the ones that change the direction of text.
 */
export const visibleJson = (value: unknown, replacer?: (name: string, value: unknown) => unknown): string =>
  (JSON.stringify(value, replacer) ?? 'null').replaceAll(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    escaped,
  )

// Such a class takes longer to build than a hook has for all of its text, so it is built at first use.
const unseen = (): RegExp => /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const escaped = (char: string): string => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
