import { parseClaimsRecord, formatClaimsRecord } from '../../src/lease/claim-record.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { RegisterEntry, Register, Steps } from '../../src/lease/register.ts'
import { type Answer, nameOf } from './explorer-directory.ts'

/**
 * Makes texts and the names of attachments the same in every replay. Both contain the pid and a counter of
 * their writer, but all processes of the explorer run in one, and each replay writes its texts anew. So a
 * text that goes out is named after its session and epoch (its alias), and one that comes in is translated
 * back for this replay.
 */
export class Aliases {
  readonly #session: string
  readonly #workspace: string
  readonly #aliasOf = new Map<string | undefined, string>()
  readonly #ownOf = new Map<string | undefined, string>()
  /** The prefix of this session's attachments, in this replay and in the directory. */
  #prefix = { own: '\0', alias: '\0' }

  constructor(session: string, workspace: string) {
    this.#session = session
    this.#workspace = workspace
  }

  /** Wraps a register, which then sees aliases only. */
  wrap({ read, swap, ...others }: Register<FileStep>): Register<FileStep> {
    const aliasOf = this.#aliasOf
    const ownOf = this.#ownOf
    const aliased = ({ epoch, text }: RegisterEntry) => ({ epoch, text: aliasOf.get(text) ?? text })
    return {
      ...others,
      *read(key: string, known?: RegisterEntry): Steps<FileStep, RegisterEntry> {
        const { epoch, text } = yield* read(key, known && aliased(known))
        return { epoch, text: ownOf.get(text) ?? text }
      },
      swap: (key, before, text) => swap(key, aliased(before), this.#alias(text, before.epoch)),
    }
  }

  outgoing(step: FileStep): FileStep {
    if (!('path' in step)) return step
    if (step.call === 'write') this.#learn(nameOf(step.path))
    const { own, alias } = this.#prefix
    const path = step.path.replace(own, alias)
    return 'text' in step ? { ...step, path, text: step.text.replace(own, alias) } : { ...step, path }
  }

  incoming(answer: Answer): Answer {
    if ('error' in answer) return answer
    const { own, alias } = this.#prefix
    const named = (value: unknown): unknown => (typeof value === 'string' ? value.replace(alias, own) : value)
    return { value: Array.isArray(answer.value) ? answer.value.map(named) : named(answer.value) }
  }

  #alias(text: string, count: number): string {
    const claims = parseClaimsRecord(text, this.#workspace)
    if (claims === undefined) throw new Error(`an invalid text: ${text}`)
    const alias = formatClaimsRecord(claims, { writer: this.#session, count })
    this.#aliasOf.set(text, alias)
    this.#ownOf.set(alias, text)
    return alias
  }

  #learn(attachment: string): void {
    const [where, pid, started, register] = attachment.split('-')
    const process = `${where}-${pid}-${started}`
    this.#prefix = { own: `${process}-${register}-`, alias: `${process}-${this.#session.replace('_', '')}-` }
  }
}
