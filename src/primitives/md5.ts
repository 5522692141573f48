/**
 * MD5 of a text, in hex. Not for security: it names lock directories, as seed 003 does. By hand, because loading
 * node:crypto for it would make every hook call 5 ms slower.
 */
export function md5(text: string): string {
  const words = pad(Buffer.from(text, 'utf8'))
  let [a, b, c, d] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]
  for (let block = 0; block < words.length; block += 16) {
    const [a0, b0, c0, d0] = [a, b, c, d]
    for (let i = 0; i < 64; i++) {
      const [mix, at] = round(i, b, c, d)
      const sum = (a + mix + (constants[i] ?? 0) + (words[block + at] ?? 0)) | 0
      const shift = shifts[i >> 4]?.[i & 3] ?? 0
      const rotated = (sum << shift) | (sum >>> (32 - shift))
      ;[a, b, c, d] = [d, (b + rotated) | 0, b, c]
    }
    ;[a, b, c, d] = [(a + a0) | 0, (b + b0) | 0, (c + c0) | 0, (d + d0) | 0]
  }
  const digest = Buffer.alloc(16)
  for (const [i, word] of [a, b, c, d].entries()) digest.writeInt32LE(word, i * 4)
  return digest.toString('hex')
}

const constants = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0)
const shifts = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
]

function round(i: number, b: number, c: number, d: number): [mix: number, wordIndex: number] {
  if (i < 16) return [(b & c) | (~b & d), i]
  if (i < 32) return [(d & b) | (~d & c), (5 * i + 1) % 16]
  if (i < 48) return [b ^ c ^ d, (3 * i + 5) % 16]
  return [c ^ (b | ~d), (7 * i) % 16]
}

/** The text's bytes, a 1 bit, zeros, and the length in bits, as little-endian words. */
function pad(bytes: Buffer): Int32Array {
  const padded = Buffer.alloc(((bytes.length + 8) >> 6) * 64 + 64)
  bytes.copy(padded)
  padded[bytes.length] = 0x80
  padded.writeUInt32LE((bytes.length << 3) >>> 0, padded.length - 8)
  padded.writeUInt32LE(bytes.length >>> 29, padded.length - 4)
  return Int32Array.from({ length: padded.length / 4 }, (_, i) => padded.readInt32LE(i * 4))
}
