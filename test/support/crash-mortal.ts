import type { Disk } from '../../src/base/fs/disk.ts'
import { changingCalls, type CrashDisk } from './crash-disk.ts'
import type { Wrap } from './crash-simulation.ts'

/**
 * A process that is killed before one of its changes to the disk. The machine runs on, with its page cache.
 */
export interface MortalLife {
  wrap: Wrap
  isDead: () => boolean
  onDeath: () => void
}

export function mortal(killAt: number): MortalLife {
  let dead = false
  const life: MortalLife = {
    isDead: () => dead,
    onDeath: () => {},
    wrap: (disk) => {
      const wrapped: Disk = passThrough(disk)
      for (const call of changingCalls) {
        const real = disk[call].bind(disk) as (...args: unknown[]) => unknown
        const guarded = (...args: unknown[]): unknown => {
          if (!dead && disk.changes >= killAt) {
            dead = true
            life.onDeath()
          }
          if (dead) throw new Error('killed')
          return real(...args)
        }
        Object.assign(wrapped, { [call]: guarded })
      }
      return wrapped
    },
  }
  return life
}

/** A copy of a disk that passes every call on, so that single calls can be replaced. */
export const passThrough = (disk: CrashDisk): Disk & Pick<CrashDisk, 'duplicate'> => ({
  duplicate: (file) => disk.duplicate(file),
  create: (path) => disk.create(path),
  open: (path) => disk.open(path),
  openToRead: (path) => disk.openToRead(path),
  write: (file, bytes, from, position) => disk.write(file, bytes, from, position),
  read: (file, into, position) => disk.read(file, into, position),
  size: (file) => disk.size(file),
  truncate: (file, length) => disk.truncate(file, length),
  sync: (file) => disk.sync(file),
  close: (file) => disk.close(file),
  rename: (from, to) => disk.rename(from, to),
  link: (from, to) => disk.link(from, to),
  unlink: (path) => disk.unlink(path),
  makeDirectory: (path) => disk.makeDirectory(path),
  list: (directory) => disk.list(directory),
  syncDirectory: (directory) => disk.syncDirectory(directory),
})
