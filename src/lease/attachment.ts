import { ulid } from '../base/text/id.ts'
import { liveness, ownIdentity } from '../base/process/liveness.ts'
import { md5 } from '../base/text/md5.ts'
import { thisMachine } from '../base/process/platform.ts'

/*
 * A text's first line changes from one to the next; the rest may stay the same. A file register may keep the rest in a file beside the link, an
 * attachment: because the text is too long for a link, or because the link without it is short enough for the inode. Where a longer
 * link costs a block, that makes a lease several times as fast.
 */

/** The target `@<name> <first line>` of a link whose rest is an attachment. */
export interface AttachedTarget {
  /** `<where>-<pid>-<start>-<token>-<count>`: named after its writer. Only its writer ever names it in a link, and it never changes. */
  name: string
  head: string
}

/** No longer one is read: it must not be written, either. */
export const maxAttachmentBytes = 1 << 20

/** Targets of up to this many bytes are kept in the inode itself (ext4; XFS and btrfs take more). */
const inodeBytes = 59

/** One that was written elsewhere, where nobody here can see whether its writer lives. */
export const abandonedAfterMs = 24 * 3_600_000

/** How many foreign attachments are remembered. */
const remembered = 64

export const isAttachment = (name: string): boolean => /^[0-9a-f]{4}(?:-[0-9a-z]+){4}$/.test(name)

export const writeTarget = (name: string, head: string): string => `@${name} ${head}`

/** Undefined if the target is a text itself. */
export function parseTarget(target: string): AttachedTarget | undefined {
  if (!target.startsWith('@')) return undefined
  const space = target.indexOf(' ')
  // Whatever else somebody put there leads nowhere.
  const name = target.slice(1, space)
  return { name: isAttachment(name) ? name : 'none', head: target.slice(space + 1) }
}

export function splitText(text: string): { head: string; rest: string } {
  const end = text.indexOf('\n')
  return end < 0 ? { head: '', rest: text } : { head: text.slice(0, end), rest: text.slice(end) }
}

/** What one register knows of attachments: its own current one of each key, and those it has read. */
export class Attachments {
  /** A process may have several registers: other threads, or another copy of this library. */
  readonly #token = ulid().slice(-4).toLowerCase()
  readonly #current = new Map<string, { rest: string; name?: string }>()
  readonly #read = new Map<string, string>()
  #count = 0
  #prefix: string | undefined

  /** Is it worth one? Only for a rest that comes again, and with a head that is short. */
  pays(key: string, head: string, rest: string): boolean {
    if (head === '' || head.length + rest.length <= inodeBytes) return false
    const before = this.#current.get(key)
    if (before?.rest === rest) return `@${this.#ours}zz ${head}`.length <= inodeBytes
    this.#current.set(key, { rest })
    return false
  }

  /** Our current attachment, if it has this rest. */
  nameOf(key: string, rest: string): string | undefined {
    const current = this.#current.get(key)
    return current?.rest === rest ? current.name : undefined
  }

  newName(): string {
    this.#count += 1
    return `${this.#ours}${this.#count.toString(36)}`
  }

  use(key: string, rest: string, name: string): string {
    this.#current.set(key, { rest, name })
    return name
  }

  isCurrent(key: string, name: string): boolean {
    return this.#current.get(key)?.name === name
  }

  recall(name: string): string | undefined {
    return this.#read.get(name)
  }

  remember(name: string, rest: string): void {
    if (this.#read.size >= remembered) this.#read.clear()
    this.#read.set(name, rest)
  }

  /** Who wrote it, as far as can be told from here. */
  writerOf(name: string): 'self' | 'alive' | 'dead' | 'elsewhere' {
    if (name.startsWith(this.#ours)) return 'self'
    const [where, pid = '', started = ''] = name.split('-')
    if (where !== here()) return 'elsewhere'
    const writer = { pid: Number.parseInt(pid, 36), started: Number.parseInt(started, 36) }
    return liveness({ ...ownIdentity(), ...writer }) === 'dead' ? 'dead' : 'alive'
  }

  get #ours(): string {
    const { pid, started } = ownIdentity()
    this.#prefix ??= `${here()}-${pid.toString(36)}-${(started ?? 0).toString(36)}-${this.#token}-`
    return this.#prefix
  }
}

let hereCache: string | undefined

/** Names the process table that a pid belongs to. */
function here(): string {
  const { host, boot, pidns, timens } = thisMachine()
  hereCache ??= md5(`${host} ${boot} ${pidns} ${timens}`).slice(0, 4)
  return hereCache
}
