/** A part of a text that must not be written, by its offsets in UTF-16 units. */
export interface Span {
  start: number
  end: number
  /** The index of the registered secret; undefined for a token that was recognized by its shape. */
  owner: number | undefined
  /** The kind of token. */
  kind?: string
}

/** The size of the smallest secret in bytes. A shorter value would be found everywhere by chance. */
export const minSecretBytes = 6

/** A string that contains the whole secret in one encoding. */
export interface Form {
  text: string
  /** The index of the secret. */
  owner: number
  /** The number of base64 characters before it that encode bits of the secret and of what precedes it. */
  sharedBefore: number
  sharedAfter: number
  /** A number of a few digits could be part of any time stamp: it counts if no digit stands beside it. */
  standsAlone: boolean
}

const minLineLength = 16
/** The most lines of a value that are searched for one by one. The key of an RSA pair of 4096 bits has 54. */
const maxLines = 100

/**
 * Lists the strings to search for: every form in docs/secrets.md. Each long line of a value of several lines
 * is a secret of its own, since a program may indent or number the lines.
 */
export function formsOf(value: string, owner: number): Form[] {
  const lines = value.split(/[\r\n]+/).map((line) => line.trim())
  const secretLines = lines.filter((line) => line.length >= minLineLength && !isMonotonous(line))
  const texts = new Set([value, ...(lines.length > maxLines ? [] : secretLines)])
  return [...texts].flatMap((text) => [...textForms(text, owner), ...base64Forms(text, owner)])
}

/** True if a string consists of one or two distinct characters, as rules and indentation do. */
export const isMonotonous = (text: string): boolean => new Set(text).size < 3

function textForms(text: string, owner: number): Form[] {
  const bytes = Buffer.from(text)
  const hex = bytes.toString('hex')
  const once = jsonEscaped(text)
  const twice = jsonEscaped(once)
  // The gate also searches the JSON of a record, which escapes what is in its strings once more.
  const json = [once, twice, jsonEscaped(twice)]
  // Half of a surrogate pair cannot be encoded in a URL: the bytes have a replacement character there.
  const wellFormed = bytes.toString()
  const url = encodeURIComponent(wellFormed)
  return [...new Set([text, ...json, url, inForm(url), hex, hex.toUpperCase()])].map((form) => ({
    text: form,
    owner,
    sharedBefore: 0,
    sharedAfter: 0,
    standsAlone: form === text && /^\d{1,15}$/.test(text),
  }))
}

/** What `URLSearchParams` makes of what `encodeURIComponent` has encoded. Its own code loads in 0.2 ms. */
const inForm = (url: string): string =>
  url
    .replaceAll('%20', '+')
    .replaceAll(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const jsonEscaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/**
 * The base64 characters that depend on the value alone, whatever stands before and after it: for each of the
 * three offsets at which the value can start in a group of three bytes, in both alphabets.
 */
function base64Forms(text: string, owner: number): Form[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.from(' '.repeat(offset) + text)
    const bits = 8 * bytes.length
    const base64 = bytes.toString('base64').slice(Math.ceil((8 * offset) / 6), Math.floor(bits / 6))
    const base64url = base64.replaceAll('+', '-').replaceAll('/', '_')
    return [...new Set([base64, base64url])].map((form) => ({
      text: form,
      owner,
      sharedBefore: offset > 0 ? 1 : 0,
      sharedAfter: bits % 6 > 0 ? 1 : 0,
      standsAlone: false,
    }))
  })
}

/** Long enough to be rare in a text; V8 does not optimize a regular expression of over 20 KB. */
const maxHeadLength = 6

/**
 * Finds the forms of all secrets in a text. One regular expression finds the first few characters of any
 * form; the rest of a form, which may have 500 KiB, is then compared.
 */
export class FormSearch {
  readonly #formsByHead = new Map<string, Form[]>()
  readonly #heads: RegExp

  constructor(forms: readonly Form[]) {
    // Heads of one length: the expression matches only one of several heads at the same place.
    const headLength = forms.reduce((least, { text }) => Math.min(least, text.length), maxHeadLength)
    for (const form of forms) {
      const head = form.text.slice(0, headLength)
      const others = this.#formsByHead.get(head)
      if (others === undefined) this.#formsByHead.set(head, [form])
      else others.push(form)
    }
    // V8 searches for sorted alternatives several times as fast.
    const heads = [...this.#formsByHead.keys()].toSorted().map(literal)
    const matchesNothing = '(?!)'
    this.#heads = new RegExp(heads.join('|') || matchesNothing, 'g')
  }

  /** Fast check: false means that the text contains no form, true that it may contain one. */
  mayHold(text: string): boolean {
    this.#heads.lastIndex = 0
    return this.#heads.test(text)
  }

  /** Every occurrence, overlapping ones included. */
  spansIn(text: string): Span[] {
    const spans: Span[] = []
    this.#heads.lastIndex = 0
    for (let match = this.#heads.exec(text); match !== null; match = this.#heads.exec(text)) {
      for (const form of this.#formsByHead.get(match[0]) ?? []) {
        if (isAt(form, text, match.index)) spans.push(spanOf(form, match.index))
      }
      // Occurrences may overlap: `abcabcabc` contains `abcabc` twice.
      this.#heads.lastIndex = match.index + 1
    }
    return spans
  }
}

/** Matches a string, whatever characters it has. */
const literal = (text: string): string =>
  text.replaceAll(/[^A-Za-z0-9]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

function isAt({ text: form, standsAlone }: Form, text: string, at: number): boolean {
  const end = at + form.length
  // V8 compares a slice a hundred times as fast as `startsWith` does.
  if (text.slice(at, end) !== form) return false
  return (
    !standsAlone || !(digitBefore.test(text.slice(Math.max(0, at - 3), at)) || /\d/.test(text.charAt(end)))
  )
}

/** A digit that does not end an escape such as `%20`. */
const digitBefore = /(?<!%[\dA-Fa-f])\d$/

const spanOf = ({ text: form, sharedBefore, sharedAfter, owner }: Form, at: number): Span => ({
  start: Math.max(0, at - sharedBefore),
  end: at + form.length + sharedAfter,
  owner,
})

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
