import { StintError } from '../base/errors/stint-error.ts'
import { FormSearch, type OwnedForm } from './form-search.ts'
import { formsOf, isMonotonous, minSecretBytes } from './forms.ts'
import { ownWords } from './own-words.ts'
import { checkSecretRef, formatSecretRef, type SecretRef } from './reference.ts'
import { maxSecretBytes } from './resolve.ts'
import { rewriteJson } from './rewrite-json.ts'
import { replaceSpans, type Span } from './spans.ts'
import { mayHoldToken, tokensIn } from './token-shapes.ts'

/** Too short to have a secret in it. */
const lastResort = '*****'
const maxRounds = 4

/**
 * Keeps secrets out of what is written: the registered ones, in every form of docs/secrets.md, and whatever looks
 * like a well-known token.
 *
 * @example
 * const gate = new SecretGate()
 * gate.register({ kind: 'env', name: 'TOKEN' }, 'correct horse')
 * gate.stringify({ said: 'correct horse' }) // {"said":"<secret:env:TOKEN>"}
 */
export class SecretGate {
  readonly #refs: string[] = []
  readonly #values = new Set<string>()
  readonly #forms: OwnedForm[] = []
  /** Made when it is first needed after a registration. */
  #search: FormSearch | undefined
  #placeholders = new Map<string, string>()

  /** How many values are registered. */
  get size(): number {
    return this.#values.size
  }

  /** From now on the value is kept out. Refuses one that is found everywhere by chance, and changes nothing then. */
  register(ref: SecretRef, value: string): void {
    const name = formatSecretRef(checkSecretRef(ref))
    // The blanks around it are lost as soon as somebody uses it.
    const secret = value.trim()
    if (this.#values.has(secret)) return
    checkValue(name, secret)
    const forms = formsOf(secret)
    const written = [...ownWords, name].join('\n')
    if (new FormSearch(forms.map((form) => ({ ...form, owner: 0 }))).ownerIn(written) !== undefined) {
      throw unfit(name, 'is its own name, or a word that every session writes')
    }
    const owner = this.#refs.push(name) - 1
    this.#values.add(secret)
    for (const form of forms) this.#forms.push({ ...form, owner })
    this.#search = undefined
    this.#placeholders = new Map()
  }

  /**
   * The JSON text of a value, with every registered secret and every token in its strings, keys and numbers rewritten; `null` for undefined. Throws what
   * `JSON.stringify` throws.
   */
  stringify(value: unknown): string {
    const json = JSON.stringify(value) ?? 'null'
    return this.#mayHold(json) ? rewriteJson(json, (text) => this.text(text)) : json
  }

  /** The same for plain text. */
  text(text: string): string {
    let result = text
    for (let round = 0; round < maxRounds; round++) {
      if (!this.#mayHold(result)) return result
      const spans = [...this.#known.spansIn(result), ...tokensIn(result)]
      if (spans.length === 0) return result
      // What replaces a secret may, with what stands beside it, make another: hence the rounds.
      result = replaceSpans(result, spans, (span) => this.#placeholder(span))
    }
    return lastResort
  }

  /** Throws if a registered secret is in what is about to be written; `what` says what that is. Nothing must be written then. */
  assertClean(bytes: Uint8Array | string, what: string): void {
    if (this.size === 0) return
    const text = typeof bytes === 'string' ? bytes : utf8.decode(bytes)
    if (!this.#known.mayHold(text)) return
    const owner = this.#known.ownerIn(text, (start, end) => isFieldOfItsOwn(text, start, end))
    if (owner === undefined) return
    const ref = this.#refs[owner]
    throw new StintError('SECRET_LEAK', `${what} would have the value of ${ref} in it, and was not written`, {
      detail: `secret=${ref}`,
    })
  }

  get #known(): FormSearch {
    this.#search ??= new FormSearch(this.#forms)
    return this.#search
  }

  #mayHold(text: string): boolean {
    return this.#known.mayHold(text) || mayHoldToken(text)
  }

  /** Says what was there, unless that would say a secret. */
  #placeholder({ owner, kind }: Span): string {
    const telling = owner === undefined ? `<masked:${kind}>` : `<secret:${this.#refs[owner]}>`
    let chosen = this.#placeholders.get(telling)
    if (chosen === undefined) {
      const brief = owner === undefined ? '<masked>' : '<secret>'
      chosen = this.#known.ownerIn(telling) === undefined ? telling : brief
      this.#placeholders.set(telling, chosen)
    }
    return chosen
  }
}

// Bytes that are no text become replacement characters, and what stands beside them is read all the same.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

function checkValue(name: string, value: string): void {
  const bytes = Buffer.byteLength(value)
  if (bytes < minSecretBytes) {
    throw new StintError('SECRET_TOO_SHORT', `the value of ${name} has fewer than ${minSecretBytes} bytes`)
  }
  if (bytes > maxSecretBytes) throw unfit(name, `has over ${maxSecretBytes} bytes`)
  if (isMonotonous(value)) throw unfit(name, 'is made of one or two characters')
}

const unfit = (name: string, why: string): StintError =>
  new StintError('SECRET_UNSUPPORTED', `the value of ${name} cannot be kept out of files: it ${why}`)

/** A size, a count, a time of ours may be the same number as a secret of a few digits; that tells nobody anything. */
const isFieldOfItsOwn = (text: string, start: number, end: number): boolean =>
  text.endsWith('":', start) && /^\d{1,15}$/.test(text.slice(start, end)) && /[,}]/.test(text.charAt(end))
