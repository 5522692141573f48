/** A part of a text that must not be written. */
export interface Span {
  start: number
  end: number
  /** The secret it is of; undefined if it only looks like one. */
  owner: number | undefined
  /** What it looks like. */
  kind?: string
}

/**
 * Puts a placeholder in the place of each span. Spans that overlap become one, so that nothing of either is left, named after the secret that
 * has most of it; so do pieces of one secret with only the few characters between them that base64 makes of their ends.
 */
export function replaceSpans(
  text: string,
  spans: readonly Span[],
  placeholder: (span: Span) => string,
): string {
  let result = ''
  let done = 0
  for (const { start, end, name } of joined(text, spans)) {
    result += text.slice(done, start) + placeholder(name)
    done = end
  }
  return result + text.slice(done)
}

/** Spans that are one, and the one that gives them their name. */
interface Joined {
  start: number
  end: number
  name: Span
}

function joined(text: string, spans: readonly Span[]): Joined[] {
  const all: Joined[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1)
    if (last !== undefined && (span.start < last.end || continues(last, span, text))) {
      last.end = Math.max(last.end, span.end)
      last.name = better(last.name, span)
    } else all.push({ start: span.start, end: span.end, name: span })
  }
  return all
}

const continues = ({ end, name }: Joined, span: Span, text: string): boolean =>
  span.owner !== undefined && span.owner === name.owner && ends.test(text.slice(end, span.start))
const ends = /^[A-Za-z0-9+/_-]{0,4}$/

const length = ({ start, end }: Span): number => end - start

/** A registered secret goes before a mere look, a long one before a short one. */
function better(a: Span, b: Span): Span {
  if ((a.owner === undefined) !== (b.owner === undefined)) return a.owner === undefined ? b : a
  return length(b) > length(a) ? b : a
}
