import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ifExists } from '../../base/fs/exists.ts'
import { parseSegmentName } from '../log/log-files.ts'

export const useKinds = ['journal', 'audit', 'blobs', 'snapshots', 'quarantine', 'other'] as const
export type UseKind = (typeof useKinds)[number]

/** The bytes that the files of a session take, in all and by kind. */
export interface DiskUse extends Record<UseKind, number> {
  session_id: string
  bytes: number
  files: number
}

const kindOfDirectory: Readonly<Record<string, UseKind>> = {
  audit: 'audit',
  blobs: 'blobs',
  snapshots: 'snapshots',
  state: 'snapshots',
  quarantine: 'quarantine',
}

/**
 * Adds up the files of a session. A file that a fork shares with its original counts once, for the session
 * that is measured first; `seen` has the shared files that were counted.
 */
export function measureSession(directory: string, id: string, seen: Set<string>): DiskUse {
  const byKind = Object.fromEntries(useKinds.map((kind) => [kind, 0])) as Record<UseKind, number>
  const use: DiskUse = { session_id: id, bytes: 0, files: 0, ...byKind }
  const walk = (path: string, kind: UseKind | undefined): void => {
    for (const entry of ifExists(() => readdirSync(path, { withFileTypes: true })) ?? []) {
      const inner = join(path, entry.name)
      if (entry.isDirectory()) {
        walk(inner, kind ?? kindOfDirectory[entry.name] ?? 'other')
        continue
      }
      const stat = lstatSync(inner, { throwIfNoEntry: false })
      if (stat === undefined) continue
      if (stat.nlink > 1) {
        const name = `${stat.dev}:${stat.ino}`
        if (seen.has(name)) continue
        seen.add(name)
      }
      use.files += 1
      use.bytes += stat.size
      use[kind ?? (parseSegmentName('journal', entry.name) === undefined ? 'other' : 'journal')] += stat.size
    }
  }
  // A link may lead out of the home.
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) walk(directory, undefined)
  return use
}
