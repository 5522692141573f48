import { relative } from 'node:path'
import type { TempEntry, MeasuredEntry } from '../../sweep/inventory/entry.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { table } from '../text/table.ts'
import { formatAge } from '../text/format.ts'

/** What a person reads of entries, a line each. */
export function renderEntries(entries: readonly MeasuredEntry[], rootPath: string): string[] {
  const titles = ['KIND', '>SIZE', '>FILES', '>AGE', 'OWNER', 'SESSION', 'SWEEP', 'NAME']
  const rows = entries.map((entry) => [
    entry.kind,
    formatBytes(entry.bytes),
    String(entry.files),
    formatAge(entry.age_ms),
    describeOwner(entry),
    entry.session_id ?? '',
    `${entry.orphan ? 'takes' : 'leaves'} (${entry.reason})`,
    visibleText(nameOf(entry, rootPath)),
  ])
  return rows.length === 0 ? [] : table(titles, rows)
}

function nameOf({ path, tracks }: TempEntry, rootPath: string): string {
  return [relative(rootPath, path), ...tracks.map((tracked) => `→ ${tracked.path}`)].join(' ')
}

export function describeOwner({
  command,
  pid,
  liveness,
}: Pick<TempEntry, 'command' | 'pid' | 'liveness'>): string {
  if (pid === null) return liveness === null ? '-' : liveness
  return `${command ?? '?'} (pid ${pid}, ${liveness ?? 'unknown'})`
}

const fates: Record<TempEntry['reason'], string> = {
  'owner-dead': 'the next sweep takes it: its run is dead',
  'unknown-and-old': 'the next sweep takes it: it is unknown whether its run is alive, and it is old',
  'ownerless-and-old': 'the next sweep takes it: it names no owner, and is old',
  expired: 'the next sweep takes it: its time is over',
  trash: 'it is being deleted; if not, the next sweep deletes it',
  superseded: 'the next sweep takes it: enough newer ones are kept',
  'removed-session': 'a sweep of removed sessions takes it',
  'owner-alive': 'it goes when its run ends',
  'child-alive': 'it stays: its run is dead, but a child of it is alive',
  'owner-unknown': 'it stays for a day: it is unknown whether its run is alive',
  unreadable: 'it stays: it cannot be read, and its owner may be alive',
  tracked: 'the next sweep takes it: its run is dead',
  ownerless: 'it stays for a day: it names no owner',
  'kept-on-purpose': 'it is kept on purpose, until ten newer ones are kept',
  'not-expired': 'it stays until its time is over',
  'too-young': 'it stays: it is too young',
  'foreign-owner': "it stays: it is another user's",
  symlink: 'it stays: a symbolic link is never followed',
  'not-stint': 'it stays: it does not belong to stint',
}

/** What becomes of it, in a sentence. */
export const describeFate = ({ reason }: TempEntry): string => fates[reason]
