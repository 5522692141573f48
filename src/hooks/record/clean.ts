import { registerEnvironmentSecrets, type SecretGate } from '../../secrets/index.ts'

/** Characters kept of each string: the output of a tool is in its file. */
const keptLength = 4000
/** Characters searched beyond those that are kept, so that no secret is cut in two before it is found. */
const leastMargin = 8000
/** The largest factor by which a form lengthens a secret: a character of three bytes in a URL. */
const widestForm = 9
/** Characters kept of all strings together. Their JSON may be six times as long. */
const keptInAll = 128 << 10

export interface Cleaning {
  gate: SecretGate
  /** The length of the longest secret in its longest encoding. */
  margin: number
}

/** A cleaning for all secrets of the environment. */
export function cleaningFor(env: NodeJS.ProcessEnv): Cleaning {
  const { gate, secrets } = registerEnvironmentSecrets(env)
  const lengths = secrets.map(({ value }) => widestForm * value.length)
  return { gate, margin: Math.max(leastMargin, ...lengths) }
}

/** Removes secrets from a value and limits its size: whatever comes last is left out. */
export function cleaned<Value>(value: Value, cleaning: Cleaning): { value: Value; masked: boolean } {
  const room = { left: keptInAll, masked: false }
  const json = JSON.stringify(shorten(value, cleaning, room)) ?? 'null'
  const clean = cleaning.gate.json(json)
  return { value: JSON.parse(clean) as Value, masked: room.masked || clean !== json }
}

/** The room that is left for strings, and whether a secret in one of them was replaced. */
interface Room {
  left: number
  masked: boolean
}

function shorten(value: unknown, cleaning: Cleaning, room: Room): unknown {
  if (typeof value === 'string') return shortenString(value, cleaning, room)
  room.left -= 8
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return fitting(value, room).map((each) => shorten(each, cleaning, room))
  return Object.fromEntries(
    fitting(Object.entries(value), room).map(([name, each]) => [
      shortenString(name, cleaning, room),
      shorten(each, cleaning, room),
    ]),
  )
}

/** The first items that fit: each takes at least eight characters of room, if only for its punctuation. */
const fitting = <Item>(items: readonly Item[], { left }: { left: number }): readonly Item[] =>
  items.slice(0, Math.max(0, Math.min(1000, left >> 3)))

function shortenString(text: string, { gate, margin }: Cleaning, room: Room): string {
  const length = Math.max(0, Math.min(keptLength, room.left))
  room.left -= Math.min(text.length, length)
  if (text.length <= length) return text
  const searched = text.slice(0, length + margin)
  const clean = gate.text(searched)
  // If the string goes on, the last `margin` characters may contain the beginning of a secret.
  const safe = searched.length < text.length ? clean.length - margin : clean.length
  const kept = clean.slice(0, Math.max(0, Math.min(length, safe)))
  room.masked ||= !text.startsWith(kept)
  return `${kept}… [+${text.length - kept.length}]`
}
