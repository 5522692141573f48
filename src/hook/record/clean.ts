import { registerEnvironmentSecrets, type SecretGate } from '../../secrets/index.ts'

/** Of a longer text only the beginning is kept: what a tool writes is in its file. */
const keptLength = 4000
/** So much more is looked at, so that no secret is cut in two before it is found. */
const leastMargin = 8000
/** A secret can be written so many times longer than it is. */
const widestForm = 6
/** Of everything together. As JSON it may be six times as long, and is read back as a small file. */
const keptInAll = 128 << 10

export interface Cleaning {
  gate: SecretGate
  /** No secret is longer than this, however it is written. */
  margin: number
}

/** A gate for everything that the environment says is secret. */
export function cleaningFor(env: NodeJS.ProcessEnv): Cleaning {
  const { gate, secrets } = registerEnvironmentSecrets(env)
  const lengths = secrets.map(({ value }) => widestForm * value.length)
  return { gate, margin: Math.max(leastMargin, ...lengths) }
}

/**
 * A value without secrets, and of a bearable size: of what is too much, that which comes last is left out.
 */
export const cleaned = <Value>(value: Value, cleaning: Cleaning): Value =>
  JSON.parse(cleaning.gate.stringify(shorten(value, cleaning, { left: keptInAll }))) as Value

function shorten(value: unknown, cleaning: Cleaning, room: { left: number }): unknown {
  if (typeof value === 'string') return shortText(value, cleaning, room)
  room.left -= 8
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return fitting(value, room).map((each) => shorten(each, cleaning, room))
  return Object.fromEntries(
    fitting(Object.entries(value), room).map(([name, each]) => [
      shortText(name, cleaning, room),
      shorten(each, cleaning, room),
    ]),
  )
}

/** Each takes some room, if only for its commas. */
const fitting = <Item>(items: readonly Item[], { left }: { left: number }): readonly Item[] =>
  items.slice(0, Math.max(0, Math.min(1000, left >> 3)))

function shortText(text: string, { gate, margin }: Cleaning, room: { left: number }): string {
  const length = Math.max(0, Math.min(keptLength, room.left))
  room.left -= Math.min(text.length, length)
  if (text.length <= length) return text
  const seen = text.slice(0, length + margin)
  const clean = gate.text(seen)
  // What was not seen to its end may end in a part of a secret.
  const sure = seen.length < text.length ? clean.length - margin : clean.length
  const kept = clean.slice(0, Math.max(0, Math.min(length, sure)))
  return `${kept}… [+${text.length - kept.length}]`
}
