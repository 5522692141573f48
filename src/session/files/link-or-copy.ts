import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, readFile } from '../../base/fs/disk.ts'
import { errorCode } from '../../base/errors/stint-error.ts'

/** A second name for a file that does not change any more; where no link can be made, a copy that is on disk. False if the file is gone. */
export function linkOrCopy(disk: Disk, from: string, to: string): boolean {
  try {
    disk.link(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
  }
  const bytes = readFile(disk, from)
  if (bytes === undefined) return false
  replaceFile(to, bytes, disk)
  return true
}
