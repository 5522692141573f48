import { splitText } from '../../src/lease/attachments.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { RegisterEntry, Register, Steps } from '../../src/lease/register.ts'
import { sweptUntilKey } from '../../src/lease/stored-claims.ts'
import { systemClock } from '../../src/base/process/clock.ts'
import { type Answer, nameOf, topOf } from './explorer-directory.ts'

/**
 * All that a process of the explorer can remember, observed from outside: the record that it knows, the
 * attachments that its register knows, and the answers in its operation since it last read or lost a swap.
 * Two histories that leave the same memory are merged, as the process continues the same way after both.
 *
 * An unreduced exploration, which merges nothing, shows whether something is missing here: its states then
 * fall into another number of classes. It shows only what happens within its bounds, so check what a process
 * keeps, too.
 */
export class Memory {
  #known: unknown[] = []
  /** The rest of its last text after the first line, and the attachments that it has written. */
  #rest = ''
  #attached: string[] = []
  #operation = ''
  #hasLost = false
  /** The text that it is swapping in. */
  #swapping = ''
  #since: unknown[] = []

  /** As a string. */
  get all(): string {
    const attachments = [this.#rest, this.#attached]
    const operation = [this.#operation, this.#hasLost, this.#swapping, this.#since]
    return JSON.stringify([this.#known, attachments, operation])
  }

  beginOperation(operation: string): void {
    this.#operation = operation
    this.#hasLost = false
    this.#swapping = ''
    this.#since = []
  }

  addAnswer(step: FileStep, answer: Answer): void {
    if (step.call === 'write') this.#attached.push(nameOf(step.path))
    // The driver ignores the answer to an unlink, and a read uses only the highest epoch of a listing.
    if (step.call === 'unlink') return
    const isRead = step.call === 'list' && this.#swapping === '' && 'value' in answer
    this.#since.push(isRead ? topOf(answer.value as string[]) : answer)
  }

  wrap({ read, swap, ...others }: Register<FileStep>): Register<FileStep> {
    const has = (held: RegisterEntry): RegisterEntry => this.#has(held)
    const begins = (text: string): void => this.#swaps(text)
    const ends = (epoch: number | undefined, text: string): void => this.#swapped(epoch, text)
    return {
      ...others,
      *read(key: string, known?: RegisterEntry): Steps<FileStep, RegisterEntry> {
        const entry = yield* read(key, known)
        // The time of the last sweep is read just before a swap, which depends on it.
        return key === sweptUntilKey ? entry : has(entry)
      },
      *swap(key: string, before: RegisterEntry, text: string): Steps<FileStep, number | undefined> {
        begins(text)
        const epoch = yield* swap(key, before, text)
        ends(epoch, text)
        return epoch
      },
    }
  }

  #has(held: RegisterEntry): RegisterEntry {
    const [epoch, text] = this.#known
    if (epoch !== held.epoch || text !== held.text) this.#known = [held.epoch, held.text]
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
    else this.#known = [epoch, text, systemClock.mono()]
  }
}
