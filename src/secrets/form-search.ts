import { AnchorSearch } from './anchor-search.ts'
import type { Form } from './forms.ts'
import type { Span } from './spans.ts'

/** A form, and what to write in its place. */
export interface OwnedForm extends Form {
  owner: number
}

/**
 * Where the forms of all secrets are in a text. Two steps: a quick one that only finds anchors, which is all that most
 * texts ever see; then the regular expressions of the forms whose anchors are there, each made when it is first needed.
 */
export class FormSearch {
  readonly #forms: readonly OwnedForm[]
  readonly #anchors: AnchorSearch
  /** The forms that an anchor is of, in the order of the anchors. */
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

  /** False if no form is in the text, quickly; true if there may be one. */
  mayHold(text: string): boolean {
    return this.#anchors.some(text) || this.#unanchored.some((form) => this.#firstOf(form, text) !== null)
  }

  /** Whose form is in the text, if any is; `except` tells matches that do not count. */
  ownerIn(text: string, except?: (start: number, end: number) => boolean): number | undefined {
    return this.spansIn(text).find(({ start, end }) => !except?.(start, end))?.owner
  }

  /** Every place, those that overlap too. */
  spansIn(text: string): Span[] {
    const spans: Span[] = []
    for (const form of this.#candidatesIn(text)) {
      const pattern = this.#pattern(form)
      const owner = this.#forms[form]?.owner ?? 0
      pattern.lastIndex = 0
      for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
        spans.push({ start: match.index, end: match.index + match[0].length, owner })
        // One may begin within the other: `abcabc` is twice in `abcabcabc`.
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
