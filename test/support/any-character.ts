import fc from 'fast-check'

/** Any character that Unicode has room for; surrogates are none. fast-check's own `binary` is the same, and takes a second to get ready. */
export const anyCharacter = fc
  .nat(0x10ffff - 0x800)
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800))
