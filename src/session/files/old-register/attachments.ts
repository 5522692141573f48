import { errorCode, StintError } from '../../../base/errors/stint-error.ts'
import { liveness, ownIdentity } from '../../../base/process/liveness.ts'
import { thisMachine } from '../../../base/process/platform.ts'
import { ulid } from '../../../base/text/id.ts'
import { md5 } from '../../../base/text/md5.ts'
import type { FileSteps } from './file-register.ts'
import type { StepNow } from './register.ts'

/** A file beside the links that holds everything after the first line of a text. */
export interface Attachment {
  /** `<where>-<pid>-<start>-<token>-<count>`: only its writer links to it, and it never changes. */
  name: string
  rest: string
  /** The target of a link to it: `@<name> <first line>`. */
  target: string
}

/** What attachments use of the register that they belong to. */
export interface KeyFiles {
  pathOf(key: string, name: string): string
  /** The targets of all links of a key. */
  readTargets(key: string): FileSteps<string[]>
  unlink(key: string, name: string): FileSteps<void>
}

/** The largest file that the reader accepts. */
const maxBytes = 1 << 20

/** ext4 keeps a target of up to this many bytes in the inode, without a block; XFS and btrfs take more. */
const inodeBytes = 59

/** An attachment whose writer cannot be seen from here is removed when it is this old. */
const abandonedAfterMs = 24 * 3_600_000

export const isAttachmentName = (name: string): boolean => /^[0-9a-f]{4}(?:-[0-9a-z]+){4}$/.test(name)

/** The name and the first line in a link's target; undefined if the target is a text itself. */
export function parseLinkTarget(target: string): { name: string; firstLine: string } | undefined {
  if (!target.startsWith('@')) return undefined
  const space = target.indexOf(' ')
  const name = target.slice(1, space)
  // Any other name, such as a path, was planted: it must not be opened.
  return { name: isAttachmentName(name) ? name : 'none', firstLine: target.slice(space + 1) }
}

function attach(name: string, text: string): Attachment {
  const { firstLine, rest } = splitText(text)
  return { name, rest, target: `@${name} ${firstLine}` }
}

/** The first line of a text, and the rest with its newline; a text of one line is all rest. */
export function splitText(text: string): { firstLine: string; rest: string } {
  const end = text.indexOf('\n')
  return end < 0 ? { firstLine: '', rest: text } : { firstLine: text.slice(0, end), rest: text.slice(end) }
}

/**
 * The attachments of one register. They serve texts that are too long for a link, and texts of which only the
 * first line changes: then the new link is short enough for the inode. On ext4 without a journal, where a
 * block costs most, that makes repeated leases four times as fast.
 */
export class Attachments {
  readonly #files: KeyFiles
  /** Tells registers of one process apart: those of worker threads and other copies of this library. */
  readonly #token = ulid().slice(-4).toLowerCase()
  /** The attachment that this register last wrote for each key. */
  readonly #current = new Map<string, { name: string; rest: string }>()
  #count = 0
  #prefix: string | undefined

  constructor(files: KeyFiles) {
    this.#files = files
  }

  /** Whether an attachment makes the link fit into the inode, where the whole text does not. */
  isWorthwhile(text: string): boolean {
    return text.length > inodeBytes && `@${this.#ownPrefix}zz `.length + text.indexOf('\n') <= inodeBytes
  }

  /** Writes the rest of a text, unless the current attachment of the key holds it already. */
  *write(key: string, text: string): FileSteps<Attachment> {
    const current = this.#current.get(key)
    if (current?.rest === splitText(text).rest) return attach(current.name, text)
    for (;;) {
      const attachment = this.prepare(key, text)
      try {
        yield { call: 'write', path: this.#files.pathOf(key, attachment.name), text: attachment.rest }
        this.#current.set(key, attachment)
        return attachment
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
  }

  /** Names a new attachment for a text, which the caller writes. */
  prepare(key: string, text: string): Attachment {
    this.#count += 1
    const attachment = attach(`${this.#ownPrefix}${this.#count.toString(36)}`, text)
    if (Buffer.byteLength(attachment.rest) > maxBytes)
      throw new StintError('ARG_ERROR', `the record for ${key} would be over 1 MiB: claim fewer paths`)
    return attachment
  }

  /** The text behind a link's target; an empty one if its attachment is missing. */
  *read(key: string, target: string): FileSteps<string> {
    const { name, firstLine } = parseLinkTarget(target) ?? { name: 'none', firstLine: '' }
    const rest = (yield { call: 'readText', path: this.#files.pathOf(key, name) }) as string | undefined
    return rest === undefined ? '' : firstLine + rest
  }

  /**
   * Writes an attachment again if a user deleted it, perhaps with its directory, before it was linked to.
   * `names`: a listing of the key, if there is one.
   */
  *restore(key: string, { name, rest }: Attachment, names?: readonly string[]): FileSteps<void> {
    const path = this.#files.pathOf(key, name)
    const isThere = names?.includes(name) ?? ((yield { call: 'exists', path }) as boolean)
    if (isThere) return
    try {
      yield { call: 'write', path, text: rest }
    } catch (error) {
      // Another swap of this register has restored it.
      if (errorCode(error) !== 'EEXIST') throw error
    }
  }

  /**
   * Removes the attachments that no link names and no writer will name any more. `isAlone`: no other swap of
   * this register is under way, which could be about to link to one.
   */
  *removeUnused(key: string, names: readonly string[], isAlone: boolean): FileSteps<void> {
    const abandoned: string[] = []
    for (const name of names)
      if (isAttachmentName(name) && (yield* this.#isAbandoned(key, name, isAlone))) abandoned.push(name)
    if (abandoned.length === 0) return
    // Only a listing made after their writers have ended shows all links that these can have made.
    const targets = yield* this.#files.readTargets(key)
    const linked = new Set(targets.map((target) => parseLinkTarget(target)?.name))
    for (const name of abandoned) if (!linked.has(name)) yield* this.#files.unlink(key, name)
  }

  /** Whether no process will link to any of these attachments again. */
  *areAbandoned(key: string, names: readonly string[]): FileSteps<boolean> {
    for (const name of names) if (!(yield* this.#isAbandoned(key, name, true))) return false
    return true
  }

  *#isAbandoned(key: string, name: string, isAlone: boolean): FileSteps<boolean> {
    const writer = this.#writerOf(name)
    if (writer === 'self') return isAlone && this.#current.get(key)?.name !== name
    if (writer !== 'elsewhere') return writer === 'dead'
    const writtenAt = (yield { call: 'mtime', path: this.#files.pathOf(key, name) }) as number | undefined
    const now = (yield { call: 'now' }) as StepNow
    return writtenAt !== undefined && now.wall - writtenAt > abandonedAfterMs
  }

  #writerOf(name: string): 'self' | 'alive' | 'dead' | 'elsewhere' {
    if (name.startsWith(this.#ownPrefix)) return 'self'
    const [where, pid = '', started = ''] = name.split('-')
    if (where !== processTable()) return 'elsewhere'
    const writer = { pid: Number.parseInt(pid, 36), started: Number.parseInt(started, 36) }
    return liveness({ ...ownIdentity(), ...writer }) === 'dead' ? 'dead' : 'alive'
  }

  get #ownPrefix(): string {
    const { pid, started } = ownIdentity()
    this.#prefix ??= `${processTable()}-${pid.toString(36)}-${(started ?? 0).toString(36)}-${this.#token}-`
    return this.#prefix
  }
}

let table: string | undefined

/** Four hex digits that name the process table which a pid belongs to. */
function processTable(): string {
  const { host, boot, pidns, timens } = thisMachine()
  table ??= md5(`${host} ${boot} ${pidns} ${timens}`).slice(0, 4)
  return table
}
