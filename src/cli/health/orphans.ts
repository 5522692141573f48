import { formatBytes } from '../../base/text/size.ts'
import type { MeasuredEntry } from '../../sweep/index.ts'
import { plural } from '../text/format.ts'
import { type Check, ok, warn } from './check.ts'

/** The sum of what dead runs have left. */
export interface Orphans {
  count: number
  bytes: number
  files: number
  /** Whether counting took too long, so that the true size is at least this. */
  partial: boolean
}

export function sumOrphans(entries: readonly MeasuredEntry[]): Orphans {
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
  if (count === 0) return ok('orphans', 'none')
  const size = `${partial ? 'at least ' : ''}${formatBytes(bytes)}`
  return warn('orphans', `dead runs have left ${plural(count, 'entry', 'entries')}, ${size}`, 'stint sweep')
}
