import { lstatSync, promises, readdirSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs'
import { monotonicIsShared, systemClock } from '../base/process/clock.ts'
import { thisMachine } from '../base/process/platform.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import type { Now } from './register.ts'

/** One call that a register in files makes: a look, a change, or the time. */
export type FileStep =
  | { call: 'list' | 'exists' | 'readlink' | 'unlink' | 'mkdir' | 'readText' | 'mtime'; path: string }
  | { call: 'symlink' | 'write'; path: string; text: string }
  | { call: 'now' }

export function performSync(step: FileStep): unknown {
  switch (step.call) {
    case 'list':
      return readdirSync(step.path)
    case 'exists':
      return lstatSync(step.path, { throwIfNoEntry: false }) !== undefined
    case 'readlink':
      return readlinkSync(step.path)
    case 'symlink':
      return symlinkSync(step.text, step.path)
    case 'unlink':
      return unlinkSync(step.path)
    case 'mkdir':
      return makePrivateDirectories(step.path)
    case 'write':
      return createPrivateFile(step.path, step.text)
    case 'readText':
      return readSmallFile(step.path, 'insist')
    case 'mtime':
      return lstatSync(step.path, { throwIfNoEntry: false })?.mtimeMs
    case 'now':
      return fileNow()
  }
}

export async function perform(step: FileStep): Promise<unknown> {
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
  const clock = monotonicIsShared ? `${boot}/${timens}` : `process ${process.pid}`
  return { wall: systemClock.now(), mono: systemClock.mono(), clock }
}
