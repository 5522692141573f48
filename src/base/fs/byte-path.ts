/** Names are bytes, not always UTF-8: read as Latin-1, a character a byte, none is lost. */
const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** A path as the system takes it, of one in Latin-1. */
export const bytePath = (latin1: string): string | Buffer =>
  isPlain(latin1) ? latin1 : Buffer.from(latin1, 'latin1')

/** A path in Latin-1, of one in UTF-8. */
export const latin1Of = (path: string): string =>
  isPlain(path) ? path : Buffer.from(path).toString('latin1')

/** What a person reads of a path in Latin-1. */
export const readable = (latin1: string): string =>
  isPlain(latin1) ? latin1 : Buffer.from(latin1, 'latin1').toString()
