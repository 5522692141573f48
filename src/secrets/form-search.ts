import { AnchorSearch } from './anchor-search.ts'
import type { Form } from './forms.ts'
import type { Span } from './spans.ts'

/** A form and the index of the secret it belongs to. */
export interface OwnedForm extends Form {
  owner: number
}

/**
 * Finds the forms of all secrets in a text, in two steps. A fast search for anchors is enough for most texts.
 * Only the forms whose anchors were found run their regular expressions, each compiled when first needed.
 */
export class FormSearch {
  readonly #forms: readonly OwnedForm[]
  readonly #anchors: AnchorSearch
  /** The indexes of the forms of each anchor, in the order of the anchors. */
  readonly #formsByAnchor: readonly (readonly number[])[]
  readonly #unanchored: readonly number[]
  readonly #patterns = new Map<number, RegExp>()

  constructor(forms: readonly OwnedForm[]) {
    this.#forms = forms
    const byAnchor = new Map<string, number[]>()
    forms.forEach(({ anchors }, index) => {
      for (const anchor of anchors) byAnchor.set(anchor, [...(byAnchor.get(anchor) ?? []), index])
    })
    this.#anchors = new AnchorSearch([...byAnchor.keys()])
    this.#formsByAnchor = [...byAnchor.values()]
    this.#unanchored = forms.flatMap(({ anchors }, index) => (anchors.length === 0 ? [index] : []))
  }

  /** Fast check: false means that the text contains no form, true that it may contain one. */
  mayHold(text: string): boolean {
    return this.#anchors.some(text) || this.#unanchored.some((form) => this.#firstOf(form, text) !== null)
  }

  /** The owner of a form in the text, if it contains any; `except` excludes matches. */
  ownerIn(text: string, except?: (start: number, end: number) => boolean): number | undefined {
    return this.spansIn(text).find(({ start, end }) => !except?.(start, end))?.owner
  }

  /** Every match, overlapping ones included. */
  spansIn(text: string): Span[] {
    const spans: Span[] = []
    for (const form of this.#candidatesIn(text)) {
      const pattern = this.#pattern(form)
      const owner = this.#forms[form]?.owner ?? 0
      pattern.lastIndex = 0
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        spans.push({ start: match.index, end: match.index + match[0].length, owner })
        // Matches may overlap: `abcabcabc` contains `abcabc` twice.
        pattern.lastIndex = match.index + 1
      }
    }
    return spans
  }

  #candidatesIn(text: string): Set<number> {
    const anchored = [...this.#anchors.all(text)].flatMap((anchor) => this.#formsByAnchor[anchor] ?? [])
    return new Set([...anchored, ...this.#unanchored])
  }

  #firstOf(form: number, text: string): RegExpExecArray | null {
    const pattern = this.#pattern(form)
    pattern.lastIndex = 0
    return pattern.exec(text)
  }

  #pattern(form: number): RegExp {
    let pattern = this.#patterns.get(form)
    if (pattern === undefined) {
      pattern = new RegExp(this.#forms[form]?.source ?? '', 'g')
      this.#patterns.set(form, pattern)
    }
    return pattern
  }
}
