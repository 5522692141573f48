import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'

/** The parameters of a request: each is checked before it is used. */
export class RequestQuery {
  readonly #given: URLSearchParams

  constructor(given: URLSearchParams) {
    this.#given = given
  }

  /** A text; undefined if it is missing or empty. */
  text(name: string): string | undefined {
    return this.#given.get(name) || undefined
  }

  need(name: string): string {
    const value = this.text(name)
    if (value !== undefined) return value
    throw new StintError('ARG_ERROR', `the parameter ${name} is missing`, { hint: 'docs/ui.md lists them.' })
  }

  /** A whole number from 0 on, such as a record or a time in milliseconds since the epoch. */
  count(name: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const count = Number(value)
    if (/^\d{1,15}$/.test(value)) return count
    throw new StintError('ARG_ERROR', `${name} must be a whole number, not ${visibleText(value, 40)}`)
  }

  /** How many to send: at least 1 and at most `most`. */
  limit(usual: number, most: number): number {
    const limit = this.count('limit') ?? usual
    if (limit >= 1 && limit <= most) return limit
    throw new StintError('ARG_ERROR', `limit must be from 1 to ${most}`)
  }

  flag(name: string): boolean {
    return ['1', 'true'].includes(this.text(name) ?? '')
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name)
    const found = choices.find((choice) => choice === value)
    if (value === undefined || found !== undefined) return found
    throw new StintError('ARG_ERROR', `${name} must be one of ${choices.join(', ')}`)
  }
}
