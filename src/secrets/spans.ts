/** A part of a text that must not be written, by its offsets in UTF-16 units. */
export interface Span {
  start: number
  end: number
  /** The index of the registered secret; undefined for a token that was recognized by its shape. */
  owner: number | undefined
  /** The kind of token. */
  kind?: string
}

/**
 * Replaces each span by a placeholder. Overlapping spans become one, so that nothing of either is left; the
 * one that `preferred` chooses names it.
 */
export function replaceSpans(
  text: string,
  spans: readonly Span[],
  placeholder: (span: Span) => string,
): string {
  let result = ''
  let done = 0
  for (const { start, end, named } of joinSpans(spans)) {
    result += text.slice(done, start) + placeholder(named)
    done = end
  }
  return result + text.slice(done)
}

interface JoinedSpan {
  start: number
  end: number
  /** The span that the placeholder names. */
  named: Span
}

function joinSpans(spans: readonly Span[]): JoinedSpan[] {
  const all: JoinedSpan[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1)
    if (last !== undefined && span.start < last.end) {
      last.end = Math.max(last.end, span.end)
      last.named = preferred(last.named, span)
    } else all.push({ start: span.start, end: span.end, named: span })
  }
  return all
}

const length = ({ start, end }: Span): number => end - start

/** Prefers a registered secret to a token, and a long span to a short one. */
function preferred(a: Span, b: Span): Span {
  if ((a.owner === undefined) !== (b.owner === undefined)) return a.owner === undefined ? b : a
  return length(b) > length(a) ? b : a
}
