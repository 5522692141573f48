import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { ulid } from '../../base/text/id.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import type { Manifest } from '../manifest.ts'
import { sessionExists } from '../session-id.ts'
import { confirmTouch, type Touch, touchSession } from './index/index-touch.ts'
import { sessionPathsIn, type SessionPaths } from './paths.ts'

/** A session comes into being whole: it is made under a name that nobody looks at, and renamed. */
export function stageDirectory(disk: Disk, sessions: string): SessionPaths {
  const staged = sessionPathsIn(join(sessions, `.new-${process.pid}-${ulid()}`))
  disk.makeDirectory(staged.root)
  return staged
}

/** The same with its manifest. */
export function stageSession(disk: Disk, sessions: string, manifest: Manifest): SessionPaths {
  const staged = stageDirectory(disk, sessions)
  try {
    replaceFile(staged.manifest, formatManifest(manifest), disk)
  } catch (error) {
    rmSync(staged.root, { recursive: true, force: true })
    throw error
  }
  return staged
}

/** `NAME_TAKEN` if there is such a session. */
export function publishSession(disk: Disk, staged: SessionPaths, paths: SessionPaths): Touch | undefined {
  // There may have been one with this id that the index still knows.
  const touch = touchSession(paths.root, 0)
  try {
    disk.rename(staged.root, paths.root)
  } catch (error) {
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error
    const id = paths.root.slice(dirname(paths.root).length + 1)
    throw sessionExists(id, error)
  }
  confirmTouch(touch)
  disk.syncDirectory(dirname(paths.root))
  return touch
}

/** The process that stages a session, if this is the name of one. */
export function stagedBy(name: string): number | undefined {
  const match = /^\.new-(\d{1,10})-[0-9A-HJKMNP-TV-Z]{26}$/.exec(name)
  return match === null ? undefined : Number(match[1])
}

export const formatManifest = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`
