/**
 * MD5 of a string, in hex; it names lock directories, and is not for security. Loading node:crypto would make
 * every hook call 5 ms slower. Without tables for the rounds: a hook runs this once, interpreted.
 */
export function md5(text: string): string {
  // A path is nearly always ASCII, and Node compiles the functions of a buffer at their first use.
  const words = pad(/^[ -~]*$/.test(text) ? text : Buffer.from(text).toString('latin1'))
  let a = 0x67452301
  let b = 0xefcdab89 | 0
  let c = 0x98badcfe | 0
  let d = 0x10325476
  for (let block = 0; block < words.length; block += 16) {
    const [a0, b0, c0, d0] = [a, b, c, d]
    for (let i = 0; i < 64; i++) {
      const sum = (a + mix(i, b, c, d) + constant(i) + (words[block + wordAt(i)] ?? 0)) | 0
      const shift = shifts.charCodeAt(((i >> 4) << 2) | (i & 3)) - zero
      a = d
      d = c
      c = b
      b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0
    }
    a = (a + a0) | 0
    b = (b + b0) | 0
    c = (c + c0) | 0
    d = (d + d0) | 0
  }
  return hex(a) + hex(b) + hex(c) + hex(d)
}

const constant = (i: number): number => (Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0

/** Rotations of the rounds, as characters from `0`: 7 12 17 22, 5 9 14 20, 4 11 16 23, 6 10 15 21. */
const shifts = '7<AF59>D4;@G6:?E'
const zero = 0x30

function mix(i: number, b: number, c: number, d: number): number {
  if (i < 16) return (b & c) | (~b & d)
  if (i < 32) return (d & b) | (~d & c)
  return i < 48 ? b ^ c ^ d : c ^ (b | ~d)
}

function wordAt(i: number): number {
  if (i < 16) return i
  if (i < 32) return (5 * i + 1) & 15
  return (i < 48 ? 3 * i + 5 : 7 * i) & 15
}

/** The bytes, each a character, a 1 bit, zeros and the length in bits, as little-endian words. */
function pad(bytes: string): number[] {
  const words: number[] = []
  const count = ((bytes.length + 8) >> 6) * 16 + 16
  for (let i = 0; i < count; i++) words.push(0)
  const put = (at: number, byte: number): void => {
    words[at >> 2] = (words[at >> 2] ?? 0) | (byte << ((at & 3) * 8))
  }
  for (let i = 0; i < bytes.length; i++) put(i, bytes.charCodeAt(i))
  put(bytes.length, 0x80)
  words[count - 2] = (bytes.length << 3) | 0
  words[count - 1] = bytes.length >>> 29
  return words
}

/** Formats a word with its lowest byte first. */
function hex(word: number): string {
  let text = ''
  for (let shift = 0; shift < 32; shift += 8) text += (((word >>> shift) & 255) | 256).toString(16).slice(1)
  return text
}
