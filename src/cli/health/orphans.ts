import type { MeasuredEntry } from '../../sweep/index.ts'
import { formatBytes } from '../../base/text/size.ts'
import { plural } from '../text/format.ts'
import { type Check, fine, poor } from './check.ts'

/** What dead runs have left. */
export interface Orphans {
  count: number
  bytes: number
  files: number
  /** Counting took too long: it is at least so much. */
  partial: boolean
}

export function orphansAmong(entries: readonly MeasuredEntry[]): Orphans {
  const orphans = entries.filter(({ orphan }) => orphan)
  const sum = (field: 'bytes' | 'files'): number => orphans.reduce((total, entry) => total + entry[field], 0)
  return {
    count: orphans.length,
    bytes: sum('bytes'),
    files: sum('files'),
    partial: orphans.some(({ partial }) => partial),
  }
}

export function judgeOrphans({ count, bytes, partial }: Orphans): Check {
  if (count === 0) return fine('orphans', 'none')
  const size = `${partial ? 'at least ' : ''}${formatBytes(bytes)}`
  return poor('orphans', `dead runs have left ${plural(count, 'entry', 'entries')}, ${size}`, 'stint sweep')
}
