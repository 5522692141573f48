import { watch } from 'node:fs'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import {
  abandonedAfterMs,
  Attachments,
  isAttachment,
  maxAttachmentBytes,
  parseTarget,
  splitText,
  writeTarget,
} from './attachment.ts'
import { type FileStep, perform, performSync } from './file-step.ts'
import type { RegisterEntry, Now, Register, Steps } from './register.ts'

type Files<Result> = Steps<FileStep, Result>

/** Longer targets have to go beside the link. Some file systems take less, and say so. */
const maxLinkBytes = 4000

/** Attachments that nobody needs are looked for at every so many epochs. */
const tidyEvery = 8

/**
 * A register in plain files. Epoch N of a key is a symlink `<directory>/<key>/<N>` whose target is the text itself: it is published
 * whole by one exclusive create, the only primitive used, and `ls -l` shows it. A text that is long, or whose rest stays the
 * same, may keep that rest in a file beside it (`attachment.ts`).
 *
 * The highest epoch is the truth, and is never deleted. Old ones are (`compact`), which opens one trap: a slow writer whose
 * next number has come and gone can create it again. So a swap is won only if a listing after the create shows it on top; and a read lists again
 * after reading, or it could be shown such a number.
 *
 * @param keptEpochs how many epochs of a key stay when a new one is written
 */
export function fileRegister(directory: string, keptEpochs = 4): Register<FileStep> {
  const pathOf = (key: string, name: number | string): string => `${directory}/${key}/${name}`
  const attachments = new Attachments()
  let swaps = 0

  function* list(key: string): Files<string[]> {
    try {
      return (yield { call: 'list', path: `${directory}/${key}` }) as string[]
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return []
      throw error
    }
  }

  function* read(key: string, known?: RegisterEntry): Files<RegisterEntry> {
    if (known !== undefined && known.epoch > 0 && (yield* isStill(key, known))) return known
    for (;;) {
      const epoch = top(yield* list(key))
      if (epoch === 0) return { epoch, text: undefined }
      const text = yield* readEpoch(key, epoch)
      if (text !== undefined && top(yield* list(key)) === epoch) return { epoch, text }
    }
  }

  /**
   * Old epochs go in order, and no text is ever written twice: while the one we know is there, its successor cannot have come and gone. So
   * if there is none, and after that the known one is still there, it was on top.
   */
  function* isStill(key: string, { epoch, text }: RegisterEntry): Files<boolean> {
    if ((yield { call: 'exists', path: pathOf(key, epoch + 1) }) as boolean) return false
    return (yield* readEpoch(key, epoch)) === text
  }

  /** Undefined if it was compacted away; what is no symlink, or leads nowhere, is an empty text. */
  function* readEpoch(key: string, epoch: number): Files<string | undefined> {
    const target = yield* targetOf(key, epoch)
    const attached = target === undefined ? undefined : parseTarget(target)
    if (attached === undefined) return target
    let rest = attachments.recall(attached.name)
    rest ??= (yield { call: 'readText', path: pathOf(key, attached.name) }) as string | undefined
    if (rest === undefined) return ''
    attachments.remember(attached.name, rest)
    return attached.head + rest
  }

  function* swap(key: string, expected: number, text: string): Files<number | undefined> {
    const next = expected + 1
    // It would be seen by nobody, and be tried again for ever.
    if (epochOf(String(next)) !== next)
      throw new StintError('HOME_UNSAFE', `${directory}/${key}/${expected} was not written by stint`, {
        hint: 'Remove it.',
      })
    swaps += 1
    try {
      if (!(yield* publish(key, next, text))) return undefined
      const names = yield* list(key)
      yield* mend(key, text, names)
      yield* tidyUp(key, names, next)
      return top(names) === next ? next : undefined
    } finally {
      swaps -= 1
    }
  }

  function* publish(key: string, epoch: number, text: string): Files<boolean> {
    const { head, rest } = splitText(text)
    if (fitsTarget(text) && !attachments.pays(key, head, rest)) {
      try {
        return yield* link(key, epoch, text)
      } catch (error) {
        if (errorCode(error) !== 'ENAMETOOLONG') throw error
      }
    }
    const name = attachments.nameOf(key, rest) ?? (yield* attach(key, rest))
    return yield* link(key, epoch, writeTarget(name, head))
  }

  function* attach(key: string, rest: string): Files<string> {
    if (Buffer.byteLength(rest) > maxAttachmentBytes)
      throw new StintError('ARG_ERROR', `the record for ${key} would be over 1 MiB: claim fewer paths`)
    for (;;) {
      const name = attachments.newName()
      try {
        yield* inDirectory(key, { call: 'write', path: pathOf(key, name), text: rest })
        return attachments.use(key, rest, name)
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
  }

  /** Somebody has removed our attachment, perhaps with the whole directory: what we have just linked must not lead nowhere. */
  function* mend(key: string, text: string, names: string[]): Files<void> {
    const { rest } = splitText(text)
    const name = attachments.nameOf(key, rest)
    if (name === undefined || names.includes(name)) return
    try {
      yield { call: 'write', path: pathOf(key, name), text: rest }
    } catch (error) {
      // Another of our swaps has mended it.
      if (errorCode(error) !== 'EEXIST') throw error
    }
  }

  function* link(key: string, epoch: number, target: string): Files<boolean> {
    try {
      yield* inDirectory(key, { call: 'symlink', path: pathOf(key, epoch), text: target })
      return true
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false
      throw error
    }
  }

  /** Makes the key's directory if it turns out to be missing. */
  function* inDirectory(key: string, step: FileStep): Files<void> {
    try {
      yield step
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
      yield { call: 'mkdir', path: `${directory}/${key}` }
      yield step
    }
  }

  /** What does not succeed can wait: it must not make a failure of a swap that has happened. */
  function* tidyUp(key: string, names: string[], epoch: number): Files<void> {
    try {
      yield* compact(key, names)
      if (epoch % tidyEvery === 0) yield* tidy(key, names)
    } catch {
      // Whoever writes next tries again.
    }
  }

  /** Removes what is below the newest epochs, oldest first: none may go while an older one stays. */
  function* compact(key: string, names: string[]): Files<void> {
    const floor = top(names) - keptEpochs
    const old = names.map(epochOf).filter((epoch) => epoch > 0 && epoch <= floor)
    for (const epoch of old.sort((a, b) => a - b)) yield* unlink(key, epoch)
  }

  /** Removes attachments that no epoch names and nobody will name any more. */
  function* tidy(key: string, names: string[]): Files<void> {
    const loose: string[] = []
    for (const name of names) if (isAttachment(name) && (yield* isLoose(key, name))) loose.push(name)
    if (loose.length === 0) return
    // Only a listing from after their writers' end shows all that they can have named.
    const named = new Set<string>()
    for (const name of yield* list(key)) {
      const target = epochOf(name) > 0 ? yield* targetOf(key, name) : undefined
      if (target !== undefined) named.add(parseTarget(target)?.name ?? '')
    }
    for (const name of loose) if (!named.has(name)) yield* unlink(key, name)
  }

  function* isLoose(key: string, name: string): Files<boolean> {
    const writer = attachments.writerOf(name)
    if (writer === 'self') return swaps === 1 && !attachments.isCurrent(key, name)
    if (writer !== 'elsewhere') return writer === 'dead'
    const writtenAt = (yield { call: 'mtime', path: pathOf(key, name) }) as number | undefined
    const now = (yield { call: 'now' }) as Now
    return writtenAt !== undefined && now.wall - writtenAt > abandonedAfterMs
  }

  /** Undefined if it is gone; what is no symlink has an empty target. */
  function* targetOf(key: string, name: number | string): Files<string | undefined> {
    try {
      return (yield { call: 'readlink', path: pathOf(key, name) }) as string
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      if (errorCode(error) === 'EINVAL') return ''
      throw error
    }
  }

  function* unlink(key: string, name: number | string): Files<void> {
    try {
      yield { call: 'unlink', path: pathOf(key, name) }
    } catch (error) {
      // A directory was never an epoch of ours, and stays.
      if (!['ENOENT', 'EISDIR'].includes(errorCode(error) ?? '')) throw error
    }
  }

  return {
    read,
    swap,
    *writtenAt(key) {
      const epoch = top(yield* list(key))
      return (yield { call: 'mtime', path: pathOf(key, epoch) }) as number | undefined
    },
    *keys() {
      try {
        return (yield { call: 'list', path: directory }) as string[]
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return []
        throw error
      }
    },
    *now() {
      return (yield { call: 'now' }) as Now
    },
    performSync,
    perform,
    locate: pathOf,
    watch(key, onChange) {
      const watcher = watch(`${directory}/${key}`, { persistent: false }, onChange)
      watcher.on('error', () => watcher.close())
      return () => watcher.close()
    },
  }
}

const fitsTarget = (text: string): boolean =>
  text !== '' && parseTarget(text) === undefined && Buffer.byteLength(text) <= maxLinkBytes

/** The number of an epoch's name; 0 for any other name. */
const epochOf = (name: string): number => (/^[1-9]\d{0,14}$/.test(name) ? Number(name) : 0)

/** The highest epoch of a listing; 0 if there is none. */
function top(names: readonly string[]): number {
  let highest = 0
  for (const name of names) {
    const epoch = epochOf(name)
    if (epoch > highest) highest = epoch
  }
  return highest
}
