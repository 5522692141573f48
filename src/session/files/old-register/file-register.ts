import {
  existsSync,
  lstatSync,
  lutimesSync,
  promises,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode, StintError } from '../../../base/errors/stint-error.ts'
import { createPrivateFile, makePrivateDirectories } from '../../../base/fs/private-file.ts'
import { readSmallFile } from '../../../base/fs/regular-file.ts'
import { monotonicIsShared, systemClock } from '../../../base/process/clock.ts'
import { thisMachine, uptimeSeconds } from '../../../base/process/platform.ts'
import { ulid } from '../../../base/text/id.ts'
import { type Attachment, Attachments, isAttachmentName } from './attachments.ts'
import type { StepNow, StepRegister, StepEntry, Steps, WaiterQueue } from './register.ts'

/** One call that a register in files makes; `makeKey` makes several, of which others see only the last. */
export type FileStep =
  | { call: 'list' | 'exists' | 'readlink' | 'unlink' | 'mkdir' | 'rmdir' | 'touch'; path: string }
  | { call: 'isDirectory' | 'readText' | 'mtime'; path: string }
  | { call: 'symlink' | 'write'; path: string; text: string }
  | { call: 'makeKey'; path: string; epoch: number; text: string; attachment?: Attachment }
  | { call: 'now' | 'uptime' }

export type FileSteps<Result> = Steps<FileStep, Result>

/** The longest text that is tried as a link's target. A file system that takes less says ENAMETOOLONG. */
const maxLinkBytes = 4000

/** How the names of directories begin that are being made for a new key. */
export const stagedPrefix = '.new-'

/** How the name of the directory begins that has the waiters of a key. */
const waitersPrefix = '.waiters-'

/** How many epochs of a key remain when a new one is written. */
const keptEpochs = 4

/** An epoch has at most 15 digits. */
const highestPossibleEpoch = 999_999_999_999_999

/** Unused attachments are removed at every epoch that this number divides. */
const removeAttachmentsEvery = 8

/**
 * A register in plain files. Epoch N of a key is a symlink `<directory>/<key>/<N>` whose target is the text.
 * One exclusive create publishes it whole, and `ls -l` shows it. A text that is too long, or of which only
 * the first line changes, may keep its rest in a file beside the link: see `Attachments`.
 *
 * The highest epoch is the current one. Older ones are deleted (`compact`), so a slow writer can create a
 * number again that has come and gone. Therefore a swap has won only if after the create the epoch that it
 * replaces is still there (see `isReplaced`), or a listing shows its own epoch on top; and a read lists again
 * after reading the link: it could otherwise return such a late epoch.
 *
 * Keys are removed, and their epochs must not repeat. So a key that was removed starts after a number that
 * its writer takes from the clock. Two writers may take different numbers and thus create different names:
 * the first epoch is therefore created with its directory, by a rename that fails if there is an epoch.
 *
 * @param kept how many epochs of a key remain when a new one is written
 */
export function linkRegister(directory: string, kept = keptEpochs): StepRegister<FileStep> {
  const directoryOf = (key: string): string => `${directory}/${key}`
  const pathOf = (key: string, name: number | string): string => `${directory}/${key}/${name}`
  /** By key, everything after the first line of the last text that this register wrote, if it had lines. */
  const lastRests = new Map<string, string>()
  /** By key, the last link with an attachment that was read, and its text. */
  const lastAttached = new Map<string, { target: string; text: string }>()
  /** By key, the last epoch of which this register knows that all epochs are gone that it should not keep. */
  const lastTidied = new Map<string, number>()
  let swapsUnderWay = 0
  let attachments: Attachments | undefined
  // Created on first use: most processes write a single record, which needs no attachment.
  const useAttachments = (): Attachments => (attachments ??= new Attachments({ pathOf, readTargets, unlink }))

  const list = (key: string): FileSteps<string[]> => listDirectory(directoryOf(key))

  function* read(key: string, known?: StepEntry): FileSteps<StepEntry> {
    if (known !== undefined && known.epoch > 0 && (yield* isCurrent(key, known))) return known
    for (;;) {
      const epoch = highestEpoch(yield* list(key))
      if (epoch === 0) return { epoch, text: undefined }
      const text = yield* readEpoch(key, epoch)
      if (text !== undefined && highestEpoch(yield* list(key)) === epoch) return { epoch, text }
    }
  }

  /**
   * Whether a known entry is still the newest, without a listing. Epochs are deleted oldest first and no text
   * is written twice: while the known epoch exists, its successor cannot have come and gone. So if the
   * successor is missing, and the known epoch is there after that look, it was on top at that moment.
   */
  function* isCurrent(key: string, { epoch, text }: StepEntry): FileSteps<boolean> {
    if ((yield { call: 'exists', path: pathOf(key, epoch + 1) }) as boolean) return false
    return (yield* readEpoch(key, epoch)) === text
  }

  /** Undefined if the epoch was deleted; empty if it is not a symlink or its attachment is missing. */
  function* readEpoch(key: string, epoch: number): FileSteps<string | undefined> {
    const target = yield* readTarget(key, epoch)
    if (!target?.startsWith('@')) return target
    // No two links have the same target, and an attachment never changes.
    const last = lastAttached.get(key)
    if (last?.target === target) return last.text
    const text = yield* useAttachments().read(key, target)
    if (text !== '') lastAttached.set(key, { target, text })
    return text
  }

  function* swap(key: string, before: StepEntry, text: string): FileSteps<number | undefined> {
    const epoch = before.epoch + 1
    // No read takes a name with more digits for an epoch, so the swap would be repeated for ever.
    if (epoch > highestPossibleEpoch)
      throw new StintError('HOME_UNSAFE', `${directory}/${key}/${before.epoch} was not written by stint`, {
        hint: 'Remove it.',
      })
    swapsUnderWay += 1
    try {
      const { created, attachment } = yield* publish(key, before, text)
      if (!created) return undefined
      // Most swaps need no listing.
      if ((yield* isReplaced(key, before)) && (yield* deleteOldest(key, epoch))) {
        if (attachment !== undefined) yield* useAttachments().restore(key, attachment)
      } else {
        const names = yield* listAfter(key, before)
        if (attachment !== undefined) yield* useAttachments().restore(key, attachment, names)
        if (names !== undefined) {
          yield* tidyUp(key, names, epoch)
          if (highestEpoch(names) !== epoch) return undefined
        }
      }
      // The next swap of this process asks for the text behind this link.
      if (attachment !== undefined) lastAttached.set(key, { target: attachment.target, text })
      return epoch
    } finally {
      swapsUnderWay -= 1
    }
  }

  /**
   * Whether an epoch that was just created has replaced `before` for certain. Epochs are deleted oldest first
   * and no text is written twice: while the epoch before is there, the new one had not come and gone before.
   * A higher epoch can be there only if the key was removed by hand and the clock set back; a listing, which
   * every eighth swap makes, then shows it.
   */
  function* isReplaced(key: string, before: StepEntry): FileSteps<boolean> {
    // Without a text there is no epoch before, or one that is no link, and such a name is never deleted.
    if (!before.text) return false
    try {
      return (yield* readEpoch(key, before.epoch)) === before.text
    } catch {
      // The swap may have won: a listing can still tell.
      return false
    }
  }

  /**
   * Deletes the oldest epoch after a new one was created; false if a listing must show what to delete. If the
   * epoch below the oldest is missing, so are all others below it: epochs are deleted oldest first.
   */
  function* deleteOldest(key: string, epoch: number): FileSteps<boolean> {
    if (epoch % removeAttachmentsEvery === 0) return false
    const oldest = epoch - kept
    if (oldest < 1) return true
    try {
      const isTidy = lastTidied.get(key) === epoch - 1
      if (!isTidy && ((yield { call: 'exists', path: pathOf(key, oldest - 1) }) as boolean)) return false
      yield* unlink(key, oldest)
      lastTidied.set(key, epoch)
    } catch {
      // As in `tidyUp`.
    }
    return true
  }

  /** Lists a key after its next epoch was created; undefined if that fails, but the swap has won. */
  function* listAfter(key: string, before: StepEntry): FileSteps<string[] | undefined> {
    try {
      return yield* list(key)
    } catch (error) {
      // Without a free descriptor, there is no listing.
      if (isStarting(before) || (yield* isReplaced(key, before))) return undefined
      throw error
    }
  }

  /** Creates the next epoch. Not created: another writer was faster, or the key was removed. */
  function* publish(
    key: string,
    before: StepEntry,
    text: string,
  ): FileSteps<{ created: boolean; attachment?: Attachment }> {
    const end = text.indexOf('\n')
    const rest = end < 0 ? undefined : text.slice(end)
    const isRepeated = rest !== undefined && lastRests.get(key) === rest
    if (rest !== undefined && !isRepeated) lastRests.set(key, rest)
    if (before.text === undefined && !isStarting(before)) yield { call: 'mkdir', path: directoryOf(key) }
    try {
      if (fitsLink(text) && !(isRepeated && useAttachments().isWorthwhile(text))) {
        try {
          yield* link(key, before, text)
          return { created: true }
        } catch (error) {
          if (errorCode(error) !== 'ENAMETOOLONG') throw error
        }
      }
      const attachment = isStarting(before)
        ? useAttachments().prepare(key, text)
        : yield* useAttachments().write(key, text)
      yield* link(key, before, attachment.target, attachment)
      return { created: true, attachment }
    } catch (error) {
      const errno = errorCode(error) ?? ''
      if (errno === 'ENOTEMPTY' && isStarting(before)) yield* removeLeftovers(key)
      const isGone = errno === 'ENOENT' && before.text !== undefined
      if (isGone || ['EEXIST', 'ENOTEMPTY'].includes(errno)) return { created: false }
      throw error
    }
  }

  /** Empties a directory without epochs, in which a sweep that was killed has left attachments. */
  function* removeLeftovers(key: string): FileSteps<void> {
    const names = yield* list(key)
    if (highestEpoch(names) > 0) return
    const foreign = names.find((name) => !isAttachmentName(name))
    if (foreign !== undefined)
      throw new StintError('HOME_UNSAFE', `${directory}/${key}/${foreign} was not written by stint`, {
        hint: 'Remove it.',
      })
    // A process that still links to one of them writes it again: see `Attachments.restore`.
    for (const name of names) yield* unlink(key, name)
  }

  /** Creates the epoch after `before`. On a full disk, older epochs give it their room: none is needed. */
  function* link(key: string, before: StepEntry, text: string, attachment?: Attachment): FileSteps<void> {
    const step = linkStep(key, before, text, attachment)
    try {
      yield step
    } catch (error) {
      if (!['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '') || isStarting(before)) throw error
      yield* compact(key, yield* list(key), 1)
      yield step
    }
  }

  /** The call that creates the epoch after `before`. */
  const linkStep = (key: string, before: StepEntry, text: string, attachment?: Attachment): FileStep =>
    isStarting(before)
      ? { call: 'makeKey', path: directoryOf(key), epoch: before.epoch + 1, text, attachment }
      : { call: 'symlink', path: pathOf(key, before.epoch + 1), text }

  /** Deletes old files. A failure must not fail the swap, which has happened: the next writer retries. */
  function* tidyUp(key: string, names: string[], epoch: number): FileSteps<void> {
    try {
      yield* compact(key, names, kept)
      lastTidied.set(key, epoch)
      if (
        epoch % removeAttachmentsEvery === 0 &&
        names.some((name) => epochOf(name) === 0 && isAttachmentName(name))
      )
        yield* useAttachments().removeUnused(key, names, swapsUnderWay === 1)
    } catch {}
  }

  /** Deletes all but the newest epochs, oldest first: `isCurrent` and `isReplaced` rely on the order. */
  function* compact(key: string, names: string[], kept: number): FileSteps<void> {
    const newestToDelete = highestEpoch(names) - kept
    const old = names.map(epochOf).filter((epoch) => epoch > 0 && epoch <= newestToDelete)
    for (const epoch of old.sort((a, b) => a - b)) yield* unlink(key, epoch)
  }

  /** The target of a link; undefined if it is missing, empty if the path is not a symlink. */
  const readTarget = (key: string, name: number | string): FileSteps<string | undefined> =>
    tryStep({ call: 'readlink', path: pathOf(key, name) }, { ENOENT: undefined, EINVAL: '' })

  /** The targets of all epochs of a key. */
  function* readTargets(key: string): FileSteps<string[]> {
    const targets: string[] = []
    for (const name of yield* list(key)) {
      const target = epochOf(name) > 0 ? yield* readTarget(key, name) : undefined
      if (target !== undefined) targets.push(target)
    }
    return targets
  }

  /** Deletes a name; a directory is not stint's, and stays. */
  const unlink = (key: string, name: number | string): FileSteps<void> =>
    tryStep({ call: 'unlink', path: pathOf(key, name) }, { ENOENT: undefined, EISDIR: undefined })

  /**
   * Removes a key, and leaves it as it is if a process may still link to one of its attachments. The epochs
   * are deleted by name, oldest first, and the directory only if it is empty then: a swap from `before` that
   * comes in between keeps both its epoch and the directory. This relies on one thing: no process has been
   * suspended in the middle of an operation since before this entry was written.
   */
  function* remove(key: string, before: StepEntry): FileSteps<boolean> {
    const names = yield* list(key)
    if (highestEpoch(names) !== before.epoch) return false
    if (before.epoch > 0 && (yield* readEpoch(key, before.epoch)) !== before.text) return false
    const attached = names.filter(isAttachmentName)
    // The directory of a key with a file of others could not be removed.
    if (names.some((name) => epochOf(name) === 0 && !isAttachmentName(name))) return false
    if (attached.length > 0 && !(yield* useAttachments().areAbandoned(key, attached))) return false
    const epochs = names.filter((name) => epochOf(name) > 0).sort((a, b) => epochOf(a) - epochOf(b))
    for (const name of [...epochs, ...attached]) yield* unlink(key, name)
    return yield* tryStep(
      { call: 'rmdir', path: directoryOf(key) },
      { ENOENT: true, ENOTEMPTY: false, EEXIST: false },
    )
  }

  const placeOf = (key: string, number: number | string): string =>
    `${directory}/${waitersPrefix}${key}/${number}`

  /** A waiter is a link whose target is its text, so that it is created whole; its time is the last touch. */
  const waiters: WaiterQueue<FileStep> = {
    *numbers(key) {
      const path = dirname(placeOf(key, 0))
      // Nearly always there is none, and then no listing is needed.
      if (!((yield { call: 'isDirectory', path }) as boolean)) return []
      const names = yield* listDirectory(path)
      return names.flatMap((name) => epochOf(name) || []).sort((a, b) => a - b)
    },
    *read(key, number) {
      const path = placeOf(key, number)
      const touchedAt = (yield { call: 'mtime', path }) as number | undefined
      if (touchedAt === undefined) return undefined
      const text = yield* tryStep<string | undefined>(
        { call: 'readlink', path },
        { ENOENT: undefined, EINVAL: '' },
      )
      return text === undefined ? undefined : { text, touchedAt }
    },
    *add(key, text) {
      for (;;) {
        const number = ((yield* waiters.numbers(key)).at(-1) ?? 0) + 1
        const path = placeOf(key, number)
        try {
          yield { call: 'symlink', path, text }
          return number
        } catch (error) {
          // The last waiter that leaves takes the directory with it.
          if (errorCode(error) === 'ENOENT') yield { call: 'mkdir', path: dirname(path) }
          else if (errorCode(error) !== 'EEXIST') throw error
        }
      }
    },
    touch: (key, number) => tryStep({ call: 'touch', path: placeOf(key, number) }, { ENOENT: false }),
    *remove(key, number) {
      const path = placeOf(key, number)
      yield* tryStep({ call: 'unlink', path }, { ENOENT: undefined })
      const left = { ENOENT: undefined, ENOTEMPTY: undefined, EEXIST: undefined }
      yield* tryStep({ call: 'rmdir', path: dirname(path) }, left)
    },
  }

  return {
    read,
    swap,
    remove,
    waiters,
    *writtenAt(key, known) {
      const at = known && ((yield { call: 'mtime', path: pathOf(key, known) }) as number | undefined)
      if (at !== undefined) return at
      const epoch = highestEpoch(yield* list(key))
      const path = epoch === 0 ? directoryOf(key) : pathOf(key, epoch)
      return (yield { call: 'mtime', path }) as number | undefined
    },
    *keys() {
      return (yield* listDirectory(directory)).filter((name) => !name.startsWith('.'))
    },
    *now() {
      return (yield { call: 'now' }) as StepNow
    },
    performSync,
    perform,
    locate: pathOf,
    watch(key, onChange) {
      const watcher = watch(directoryOf(key), { persistent: false }, onChange)
      watcher.on('error', () => watcher.close())
      return () => watcher.close()
    },
  }
}

/** Whether a swap writes the first text of a key, after a number that its writer has chosen. */
const isStarting = ({ epoch, text }: StepEntry): boolean => text === undefined && epoch > 0

/** Yields a step; an error with one of these codes becomes the result that stands beside it. */
function* tryStep<Result>(step: FileStep, results: Record<string, Result>): FileSteps<Result> {
  try {
    return (yield step) as Result
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (code in results) return results[code] as Result
    throw error
  }
}

/** The names in a directory; none if it does not exist. */
export const listDirectory = (path: string): FileSteps<string[]> =>
  tryStep({ call: 'list', path }, { ENOENT: [] })

/** An empty target is invalid, and a leading `@` marks an attachment. */
const fitsLink = (text: string): boolean =>
  text !== '' &&
  !text.startsWith('@') &&
  // No character has more than three bytes for each of its units.
  (text.length * 3 <= maxLinkBytes || Buffer.byteLength(text) <= maxLinkBytes)

/** The number of an epoch's name; 0 for any other name. */
const epochOf = (name: string): number => {
  const epoch = Number(name)
  const isEpoch = Number.isInteger(epoch) && epoch > 0 && epoch <= highestPossibleEpoch
  return isEpoch && String(epoch) === name ? epoch : 0
}

/** The highest epoch of a listing; 0 if there is none. */
function highestEpoch(names: readonly string[]): number {
  let highest = 0
  for (const name of names) {
    const epoch = epochOf(name)
    if (epoch > highest) highest = epoch
  }
  return highest
}

function performSync(step: FileStep): unknown {
  try {
    return callSync(step)
  } catch (error) {
    throw linkError(error)
  }
}

async function perform(step: FileStep): Promise<unknown> {
  try {
    switch (step.call) {
      case 'list':
        return await promises.readdir(step.path)
      case 'readlink':
        return await promises.readlink(step.path)
      case 'symlink':
        return await promises.symlink(step.text, step.path)
      case 'unlink':
        return await promises.unlink(step.path)
      default:
        // The other calls are rare, or too short to block the event loop.
        return callSync(step)
    }
  } catch (error) {
    throw linkError(error)
  }
}

function callSync(step: FileStep): unknown {
  switch (step.call) {
    case 'list':
      return readdirSync(step.path)
    case 'exists':
      return lstatSync(step.path, { throwIfNoEntry: false }) !== undefined
    case 'isDirectory':
      // Only a directory has such an entry. A stat would take longer: Node compiles it at its first use.
      return existsSync(`${step.path}/.`)
    case 'readlink':
      return readlinkSync(step.path)
    case 'symlink':
      return symlinkSync(step.text, step.path)
    case 'unlink':
      return unlinkSync(step.path)
    case 'mkdir':
      return makePrivateDirectories(step.path)
    case 'rmdir':
      rmdirSync(step.path)
      return true
    case 'touch':
      lutimesSync(step.path, new Date(), new Date())
      return true
    case 'makeKey':
      return makeKey(step)
    case 'write':
      return createPrivateFile(step.path, step.text)
    case 'readText':
      return readSmallFile(step.path, 'throwOnError')
    case 'mtime':
      return lstatSync(step.path, { throwIfNoEntry: false })?.mtimeMs
    case 'now':
      return readClocks()
    case 'uptime':
      return uptimeSeconds()
  }
}

/** Creates the directory of a key with its first epoch in it; fails if there is one that is not empty. */
function makeKey({ path, epoch, text, attachment }: Extract<FileStep, { call: 'makeKey' }>): void {
  const staged = join(dirname(path), `${stagedPrefix}${ulid()}`)
  makePrivateDirectories(staged)
  try {
    if (attachment !== undefined) createPrivateFile(join(staged, attachment.name), attachment.rest)
    symlinkSync(text, join(staged, String(epoch)))
    renameSync(staged, path)
  } catch (error) {
    rmSync(staged, { recursive: true, force: true })
    throw error
  }
}

/** Without symbolic links there are no locks, and no permission that a user could grant changes that. */
function linkError(error: unknown): unknown {
  const { code = '', syscall, dest = '' } = error as NodeJS.ErrnoException & { dest?: string }
  if (syscall !== 'symlink' || !['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'].includes(code)) return error
  const message = `the file system of ${dirname(dest)} has no symbolic links: ${code}`
  return new StintError('LOCK_UNSUPPORTED', message, { cause: error })
}

/** All processes of one boot share a monotonic clock, unless they are in different time namespaces. */
function readClocks(): StepNow {
  const { boot, timens } = thisMachine()
  const clock = monotonicIsShared ? `${boot}/${timens}` : `process ${process.pid}`
  return { wall: systemClock.now(), mono: systemClock.mono(), clock }
}
