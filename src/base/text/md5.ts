/**
 * MD5 of a string, in hex; it names lock directories, and is not for security. Loading node:crypto would make
 * every hook call 3 ms slower. A hook runs this once, interpreted: so the 64 steps call no functions.
 */
export function md5(text: string): string {
  const words = pad(text)
  let a = 0x67452301
  let b = 0xefcdab89 | 0
  let c = 0x98badcfe | 0
  let d = 0x10325476
  for (let block = 0; block < words.length; block += 16) {
    const a0 = a
    const b0 = b
    const c0 = c
    const d0 = d
    for (let i = 0; i < 64; i++) {
      let mixed = c ^ (b | ~d)
      let word = 7 * i
      if (i < 16) {
        mixed = (b & c) | (~b & d)
        word = i
      } else if (i < 32) {
        mixed = (d & b) | (~d & c)
        word = 5 * i + 1
      } else if (i < 48) {
        mixed = b ^ c ^ d
        word = 3 * i + 5
      }
      const sum = (a + mixed + (sines[i] ?? 0) + (words[block + (word & 15)] ?? 0)) | 0
      const shift = shifts[((i >> 4) << 2) | (i & 3)] ?? 0
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

/** How far the sum of a step is rotated: four numbers for each of the four rounds. */
const shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]

/** The constants of the 64 steps: the first 32 bits of the fractions of |sin 1|, |sin 2|, … */
// prettier-ignore
const sines = [
  0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
  0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
  0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
  0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
  0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
  0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
  0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
  0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
]

/** The UTF-8 bytes of a text, a 1 bit, zeros and the length in bits, as little-endian words. */
function pad(text: string): number[] {
  const bytes = isAscii(text) ? text : Buffer.from(text).toString('latin1')
  const { length } = bytes
  const words: number[] = []
  let word = 0
  for (let at = 0; at < length; at++) {
    word |= bytes.charCodeAt(at) << ((at & 3) * 8)
    if ((at & 3) < 3) continue
    words.push(word)
    word = 0
  }
  words.push(word | (0x80 << ((length & 3) * 8)))
  while ((words.length & 15) !== 14) words.push(0)
  words.push((length << 3) | 0, length >>> 29)
  return words
}

/** A path is nearly always ASCII, and Node compiles the functions of a buffer at their first use. */
function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}

/** Formats a word with its lowest byte first. */
function hex(word: number): string {
  const swapped = (word >>> 24) | ((word >>> 8) & 0xff00) | ((word << 8) & 0xff0000) | (word << 24)
  return (swapped >>> 0).toString(16).padStart(8, '0')
}
