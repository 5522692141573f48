/** File names are bytes, not always valid UTF-8. Latin-1 keeps every byte, as one character each. */
const isPlain = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** Converts a Latin-1 path to a form that `node:fs` passes to the kernel byte for byte. */
export const bytePath = (latin1: string): string | Buffer =>
  isPlain(latin1) ? latin1 : Buffer.from(latin1, 'latin1')

/** Converts a UTF-8 path to Latin-1, one character a byte. */
export const latin1Of = (path: string): string =>
  isPlain(path) ? path : Buffer.from(path).toString('latin1')

/** Converts a Latin-1 path to UTF-8, for people to read. */
export const readable = (latin1: string): string =>
  isPlain(latin1) ? latin1 : Buffer.from(latin1, 'latin1').toString()
