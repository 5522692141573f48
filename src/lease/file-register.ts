import {
  lstatSync,
  mkdirSync,
  promises,
  readdirSync,
  readlinkSync,
  symlinkSync,
  unlinkSync,
  watch,
} from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../primitives/clock.ts'
import { ulid } from '../primitives/id.ts'
import { liveness, ownIdentity } from '../primitives/liveness.ts'
import { thisMachine } from '../primitives/platform.ts'
import { createPrivateFile } from '../primitives/private-file.ts'
import { readSmallFile } from '../primitives/small-file.ts'
import { errnoOf } from '../primitives/stint-error.ts'
import type { Held, Now, Register, Steps } from './register.ts'

/**
 * A register in plain files. Epoch N of a key is a symlink `<directory>/<key>/<N>` whose target is the text itself: it is published
 * whole by one exclusive create, the only primitive used, and `ls -l` shows it.
 *
 * The highest epoch is the truth, and is never deleted. Old ones are (`compact`), which opens one trap: a slow writer whose
 * next number has come and gone can create it again. So a swap is won only if a listing after the create shows it on top; and a read lists again
 * after reading, or it could be shown such a number.
 */
export type FileStep =
  | { call: 'list' | 'readlink' | 'unlink' | 'mkdir' | 'readText' | 'mtime'; path: string }
  | { call: 'symlink' | 'write'; path: string; text: string }
  | { call: 'now' }

type Files<Result> = Steps<FileStep, Result>

/** A longer text goes into a file, which the symlink then names. Some file systems take less, and say so. */
const maxLinkBytes = 4000

/** `keptEpochs`: how many epochs of a key stay when a new one is written. */
export function fileRegister(directory: string, keptEpochs = 4): Register<FileStep> {
  const pathOf = (key: string, name: number | string): string => join(directory, key, String(name))

  function* list(key: string): Files<string[]> {
    try {
      return (yield { call: 'list', path: join(directory, key) }) as string[]
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    }
  }

  function* read(key: string, known?: Held): Files<Held> {
    for (;;) {
      const epoch = top(yield* list(key))
      if (epoch === 0) return { epoch, text: undefined }
      const text = yield* readEpoch(key, epoch)
      // Once the truth of this epoch and still on top: it cannot be a number that was created again.
      if (epoch === known?.epoch && text === known.text) return known
      if (text !== undefined && top(yield* list(key)) === epoch) return { epoch, text }
    }
  }

  /** Undefined if it was compacted away; what is no symlink, or leads nowhere, is an empty text. */
  function* readEpoch(key: string, epoch: number): Files<string | undefined> {
    try {
      const target = (yield { call: 'readlink', path: pathOf(key, epoch) }) as string
      if (!isOverflow(target)) return target
      return ((yield { call: 'readText', path: pathOf(key, target) }) as string | undefined) ?? ''
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      if (errnoOf(error) === 'EINVAL') return ''
      throw error
    }
  }

  function* swap(key: string, expected: number, text: string): Files<number | undefined> {
    const next = expected + 1
    if (!(yield* publish(key, next, text))) return undefined
    const names = yield* list(key)
    yield* compact(key, names)
    return top(names) === next ? next : undefined
  }

  function* publish(key: string, epoch: number, text: string): Files<boolean> {
    if (Buffer.byteLength(text) > maxLinkBytes) return yield* publishOverflow(key, epoch, text)
    try {
      return yield* link(key, epoch, text)
    } catch (error) {
      if (errnoOf(error) !== 'ENAMETOOLONG') throw error
      return yield* publishOverflow(key, epoch, text)
    }
  }

  function* publishOverflow(key: string, epoch: number, text: string): Files<boolean> {
    const { pid, started } = ownIdentity()
    const name = `${overflowPrefix}${pid}-${started ?? ''}-${ulid()}`
    yield* inDirectory(key, { call: 'write', path: pathOf(key, name), text })
    const won = yield* link(key, epoch, name)
    if (!won) yield* unlink(key, name)
    return won
  }

  function* link(key: string, epoch: number, target: string): Files<boolean> {
    try {
      yield* inDirectory(key, { call: 'symlink', path: pathOf(key, epoch), text: target })
      return true
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false
      throw error
    }
  }

  /** Makes the key's directory if it turns out to be missing. */
  function* inDirectory(key: string, step: FileStep): Files<void> {
    try {
      yield step
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
      yield { call: 'mkdir', path: join(directory, key) }
      yield step
    }
  }

  /** Removes what is below the newest epochs, oldest first, and overflow files that no epoch names any more. */
  function* compact(key: string, names: string[]): Files<void> {
    const floor = top(names) - keptEpochs
    const old = names
      .filter((name) => isEpoch(name) && Number(name) <= floor)
      .sort((a, b) => Number(a) - Number(b))
    const overflows = names.filter(isOverflow)
    for (const name of old) {
      if (overflows.length > 0) yield* unlinkTarget(key, name)
      yield* unlink(key, name)
    }
    for (const name of overflows)
      if (isAbandoned(name) && !(yield* isNamed(key, name, names))) yield* unlink(key, name)
  }

  function* unlinkTarget(key: string, epoch: string): Files<void> {
    const target = yield* targetOf(key, epoch)
    if (target !== undefined && isOverflow(target)) yield* unlink(key, target)
  }

  function* isNamed(key: string, overflow: string, names: string[]): Files<boolean> {
    for (const name of names) if (isEpoch(name) && (yield* targetOf(key, name)) === overflow) return true
    return false
  }

  function* targetOf(key: string, epoch: string): Files<string | undefined> {
    try {
      return (yield { call: 'readlink', path: pathOf(key, epoch) }) as string
    } catch {
      return undefined
    }
  }

  function* unlink(key: string, name: number | string): Files<void> {
    try {
      yield { call: 'unlink', path: pathOf(key, name) }
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error
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
        if (errnoOf(error) === 'ENOENT') return []
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
      const watcher = watch(join(directory, key), { persistent: false }, onChange)
      watcher.on('error', () => watcher.close())
      return () => watcher.close()
    },
  }
}

const overflowPrefix = 'long-'
const isOverflow = (name: string): boolean => name.startsWith(overflowPrefix)
const isEpoch = (name: string): boolean => /^\d+$/.test(name)

/** The highest epoch of a listing; 0 if there is none. */
function top(names: readonly string[]): number {
  let highest = 0
  for (const name of names) {
    const epoch = isEpoch(name) ? Number(name) : 0
    if (epoch > highest) highest = epoch
  }
  return highest
}

/** An overflow file is named after its writer, who links it at once: if the writer is dead, nobody will. */
function isAbandoned(name: string): boolean {
  const [pid, started] = name.slice(overflowPrefix.length).split('-')
  const writer = { ...ownIdentity(), pid: Number(pid), started: started ? Number(started) : null }
  return liveness(writer) === 'dead'
}

function performSync(step: FileStep): unknown {
  switch (step.call) {
    case 'list':
      return readdirSync(step.path)
    case 'readlink':
      return readlinkSync(step.path)
    case 'symlink':
      return symlinkSync(step.text, step.path)
    case 'unlink':
      return unlinkSync(step.path)
    case 'mkdir':
      return mkdirSync(step.path, { recursive: true, mode: 0o700 })
    case 'write':
      return createPrivateFile(step.path, step.text)
    case 'readText':
      return readSmallFile(step.path)
    case 'mtime':
      return lstatSync(step.path, { throwIfNoEntry: false })?.mtimeMs
    case 'now':
      return fileNow()
  }
}

async function perform(step: FileStep): Promise<unknown> {
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
      // What is rare, or takes no time, is not worth a second way to do it.
      return performSync(step)
  }
}

/** All processes of one boot share a monotonic clock, unless they live in different time namespaces. */
function fileNow(): Now {
  const { boot, timens } = thisMachine()
  return { wall: systemClock.now(), mono: systemClock.mono(), clock: `${boot}/${timens}` }
}
