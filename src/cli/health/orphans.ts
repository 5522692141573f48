import type { DiskSpace } from '../../base/fs/disk-space.ts'
import type { MeasuredEntry } from '../../sweep/index.ts'
import { formatSpace, plural } from '../text/format.ts'
import { type Check, ok, warn } from './check.ts'

/** The sum of what dead runs have left. */
export interface Orphans extends DiskSpace {
  count: number
  files: number
  /** Whether counting took too long, so that the true size is at least this. */
  partial: boolean
}

export function sumOrphans(entries: readonly MeasuredEntry[]): Orphans {
  const orphans = entries.filter(({ orphan }) => orphan)
  const sum = (field: 'bytes' | 'disk_bytes' | 'files'): number =>
    orphans.reduce((total, entry) => total + entry[field], 0)
  return {
    count: orphans.length,
    bytes: sum('bytes'),
    disk_bytes: sum('disk_bytes'),
    files: sum('files'),
    partial: orphans.some(({ partial }) => partial),
  }
}

export function judgeOrphans({ count, partial, ...space }: Orphans): Check {
  if (count === 0) return ok('orphans', 'none')
  const size = `${partial ? 'at least ' : ''}${formatSpace(space)}`
  return warn('orphans', `dead runs have left ${plural(count, 'entry', 'entries')}, ${size}`, 'stint sweep')
}
