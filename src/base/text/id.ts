import { closeSync, openSync, readSync } from 'node:fs'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * Makes a ULID: 48 bits of time and 80 random bits in 26 characters without look-alikes. Sorts by time;
 * within one millisecond, each ULID of a process is larger than the one before.
 *
 * @example
 * const [first, second] = [ulid(), ulid()]   // first < second
 */
export function ulid(now: number = Date.now(), random: Uint8Array = randomAt(now)): string {
  let time = ''
  // The remainder of a time before 1970 would be negative, and name no letter.
  for (let rest = Math.max(0, now), i = 0; i < 10; i++) {
    time = alphabet.charAt(rest % 32) + time
    rest = Math.floor(rest / 32)
  }
  let tail = ''
  let bits = 0
  let bitCount = 0
  for (const byte of random) {
    bits = (bits << 8) | byte
    bitCount += 8
    while (bitCount >= 5) {
      bitCount -= 5
      tail += alphabet.charAt((bits >> bitCount) & 31)
    }
    bits &= (1 << bitCount) - 1
  }
  return time + tail
}

let last: { now: number; random: Uint8Array } | undefined

/** Random bits; within one millisecond, the previous bits plus one. */
function randomAt(now: number): Uint8Array {
  if (last?.now === now) increment(last.random)
  else last = { now, random: randomBytes(10) }
  return last.random
}

/** From /dev/urandom where there is one: loading Node's own crypto takes 5 ms, a sixth of a hook. */
function randomBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  try {
    const fd = openSync('/dev/urandom', 'r')
    try {
      if (readSync(fd, bytes) === length) return bytes
    } finally {
      closeSync(fd)
    }
  } catch {
    // Not a POSIX system: there is no such device.
  }
  return globalThis.crypto.getRandomValues(bytes)
}

function increment(bytes: Uint8Array): void {
  for (let at = bytes.length - 1; at >= 0; at--) {
    bytes[at] = ((bytes[at] ?? 0) + 1) & 255
    if (bytes[at] !== 0) return
  }
}

/** Makes an id for a run: `req_<ULID>`. */
export const newRequestId = (): string => `req_${ulid()}`

/** Makes an id for a session: `ses_<ULID>`. */
export const newSessionId = (): string => `ses_${ulid()}`

/** Is this a run id as `newRequestId` makes it? */
export const isRequestId = (text: string): boolean => requestIdIn(text) === text

/** Finds a run id in a longer name. */
export const requestIdIn = (name: string): string | undefined => /req_[0-9A-HJKMNP-TV-Z]{26}/.exec(name)?.[0]

/** May this be a session id? Agents' own ids are accepted if they are safe as file names. */
export const isSessionId = (text: unknown): boolean =>
  typeof text === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text)
