import fc from 'fast-check'

/**
 * Any Unicode character except surrogates. fast-check's own `binary` is equal, but takes a second to prepare.
 */
export const anyCharacter = fc
  .nat(0x10ffff - 0x800)
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))
