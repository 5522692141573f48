import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { isString } from '../../base/text/fields.ts'

/** The query of a request, or the JSON of its body: each field is checked before it is used. */
export class RequestFields {
  readonly #given: Readonly<Record<string, unknown>>

  constructor(given: Readonly<Record<string, unknown>>) {
    this.#given = given
  }

  /** A string; undefined if it is missing or empty. */
  text(name: string): string | undefined {
    const value = this.#given[name] ?? ''
    if (!isString(value)) throw new StintError('ARG_ERROR', `${name} must be a string`)
    return value === '' ? undefined : value
  }

  need(name: string): string {
    const value = this.text(name)
    if (value !== undefined) return value
    throw new StintError('ARG_ERROR', `${name} is missing`, {
      hint: '`Answers` in ui-protocol.d.ts lists the parameters.',
    })
  }

  /** A whole number from 0 on, such as a record or a time in milliseconds since the epoch. */
  count(name: string): number | undefined {
    const value = String(this.#given[name] ?? '')
    if (value === '') return undefined
    if (/^\d{1,15}$/.test(value)) return Number(value)
    throw new StintError('ARG_ERROR', `${name} must be a whole number, not ${visibleText(value, 40)}`)
  }

  needCount(name: string): number {
    const count = this.count(name)
    if (count !== undefined) return count
    throw new StintError('ARG_ERROR', `${name} must be a whole number`)
  }

  /** How many to send: at least 1 and at most `most`. */
  limit(usual: number, most: number): number {
    const limit = this.count('limit') ?? usual
    if (limit >= 1 && limit <= most) return limit
    throw new StintError('ARG_ERROR', `limit must be from 1 to ${most}`)
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name)
    const found = choices.find((choice) => choice === value)
    if (value === undefined || found !== undefined) return found
    throw new StintError('ARG_ERROR', `${name} must be one of ${choices.join(', ')}`)
  }
}
