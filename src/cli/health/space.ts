import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { formatBytes } from '../../base/text/size.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { bad, type Check, fine, poor } from './check.ts'

/** What is left on a file system, for us: some is kept for root. */
export interface Space {
  path: string
  free_bytes: number
  total_bytes: number
  /** Files that can still be made; both 0 where the file system sets no limit. */
  free_files: number
  total_files: number
}

/** Of what is not there yet: of the directory it would be made in. */
export function readSpace(path: string): Space {
  for (let place = path; ; place = dirname(place)) {
    try {
      const { bavail, blocks, bsize, ffree, files } = statfsSync(place)
      return {
        path,
        free_bytes: bavail * bsize,
        total_bytes: blocks * bsize,
        free_files: ffree,
        total_files: files,
      }
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '') || dirname(place) === place) throw error
    }
  }
}

const mebibyte = 1 << 20
const gibibyte = 1 << 30
/** Below this a run can hardly begin, a session not go on. */
const leastBytes = 16 * mebibyte
const leastFiles = 100
const fewBytes = 512 * mebibyte
const fewFiles = 10_000
/** Of a disk that is this full, even a few GiB are soon gone. */
const fullShare = 0.95

/** A small file system may be meant to be small: what counts first is what is left. */
export function judgeSpace(name: string, space: Space): Check {
  const { free_bytes: bytes, total_bytes, free_files: files, total_files } = space
  // Some file systems have none: that does not make them full.
  if (total_bytes === 0) return fine(name, 'its file system has no size')
  const used = 1 - bytes / total_bytes
  const limited = total_files > 0
  const text = `${formatBytes(bytes)} free of ${formatBytes(total_bytes)}${
    limited && files < fewFiles ? `, room for ${files} files` : ''
  }`
  const fix =
    'Free some space there; `stint sweep` removes what dead runs left, `stint sessions du` shows what sessions take.'
  if (bytes < leastBytes || (limited && files < leastFiles)) return bad(name, text, fix)
  const scarce = bytes < fewBytes || (used > fullShare && bytes < 4 * gibibyte)
  return scarce || (limited && files < fewFiles) ? poor(name, text, fix) : fine(name, text)
}
