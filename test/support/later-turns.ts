import type { Disk, Later } from '../../src/base/fs/disk.ts'

/** A disk whose open files can be used under a second number, as the kernel does during a call. */
type DiskWithCalls = Disk & { duplicate?: (file: number) => number }

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/**
 * A disk that makes every slow call off the event loop, as the thread pool does on a slow disk. A call waits
 * in the pool, looks up its file by the number, takes effect and returns, each in a turn of the event loop.
 */
export function laterTurns(disk: DiskWithCalls): Disk {
  const later = async <Result>(make: () => Later<Result>): Promise<Result> => {
    try {
      await nextTurn()
      return await make()
    } finally {
      await nextTurn()
    }
  }
  const onFile = <Result>(file: number, make: (file: number) => Later<Result>): Promise<Result> =>
    later(async () => {
      const held = disk.duplicate?.(file)
      await nextTurn()
      try {
        return await make(held ?? file)
      } finally {
        if (held !== undefined) disk.close(held)
      }
    })
  return {
    ...passOn(disk),
    write: (file, ...rest) => onFile(file, (held) => disk.write(held, ...rest)),
    sync: (file) => onFile(file, (held) => disk.sync(held)),
    syncDirectory: (path) => later(() => disk.syncDirectory(path)),
  }
}

/** The calls of a disk, which may be an object of a class, as an object whose calls can be replaced. */
export const passOn = (disk: Disk): Disk => ({
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

/** Where commits run: the tests of durability and fencing prove both. */
export const commitWays = ['on the event loop', 'in the thread pool'] as const
export type CommitWay = (typeof commitWays)[number]

/** A disk whose commits run in this way. */
export const diskFor = (way: CommitWay, disk: Disk): Disk =>
  way === 'in the thread pool' ? laterTurns(disk) : disk
