import { splitText } from '../../src/lease/attachments.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { RegisterEntry, Register, Steps } from '../../src/lease/register.ts'
import { systemClock } from '../../src/base/process/clock.ts'
import { type Answer, nameOf, topOf } from './explorer-directory.ts'

/**
 * What a process of the explorer can remember, seen from outside: the page that its book knows, the attachments that its register knows, and what its
 * operation has been told since it last read or lost a swap. Two pasts that leave the same behind are one: what comes next is the same.
 *
 * Whether something is missing here shows where the states of an exploration that tells all pasts apart fall into another number of classes. It shows
 * only within the bounds of that, so think of what a process keeps, too.
 */
export class Memory {
  #page: unknown[] = []
  /** What its last text said below the first line and the attachments it has written. */
  #rest = ''
  #attached: string[] = []
  #operation = ''
  #hasLost = false
  /** The text that it is about to swap in. */
  #swapping = ''
  #since: unknown[] = []

  /** As text. */
  get all(): string {
    const attachments = [this.#rest, this.#attached]
    const operation = [this.#operation, this.#hasLost, this.#swapping, this.#since]
    return JSON.stringify([this.#page, attachments, operation])
  }

  begins(operation: string): void {
    this.#operation = operation
    this.#hasLost = false
    this.#swapping = ''
    this.#since = []
  }

  hears(step: FileStep, answer: Answer): void {
    if (step.call === 'write') this.#attached.push(nameOf(step.path))
    // Nobody looks at what an unlink came to, and a read only for the top of a listing.
    if (step.call === 'unlink') return
    const isRead = step.call === 'list' && this.#swapping === '' && 'value' in answer
    this.#since.push(isRead ? topOf(answer.value as string[]) : answer)
  }

  over({ read, swap, ...others }: Register<FileStep>): Register<FileStep> {
    const has = (held: RegisterEntry): RegisterEntry => this.#has(held)
    const begins = (text: string): void => this.#swaps(text)
    const ends = (epoch: number | undefined, text: string): void => this.#swapped(epoch, text)
    return {
      ...others,
      *read(key: string, known?: RegisterEntry): Steps<FileStep, RegisterEntry> {
        return has(yield* read(key, known))
      },
      *swap(key: string, expected: number, text: string): Steps<FileStep, number | undefined> {
        begins(text)
        const epoch = yield* swap(key, expected, text)
        ends(epoch, text)
        return epoch
      },
    }
  }

  #has(held: RegisterEntry): RegisterEntry {
    const [epoch, text] = this.#page
    if (epoch !== held.epoch || text !== held.text) this.#page = [held.epoch, held.text]
    this.#since = ['read']
    return held
  }

  #swaps(text: string): void {
    const { firstLine, rest } = splitText(text)
    if (firstLine !== '') this.#rest = rest
    this.#swapping = text
  }

  #swapped(epoch: number | undefined, text: string): void {
    this.#since = []
    this.#swapping = ''
    if (epoch === undefined) this.#hasLost = true
    else this.#page = [epoch, text, systemClock.mono()]
  }
}
