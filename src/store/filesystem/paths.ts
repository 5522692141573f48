import { join } from 'node:path'
import { isSessionId } from '../../primitives/id.ts'
import { StintError } from '../../primitives/stint-error.ts'

/** Where everything of one session lies. */
export interface SessionPaths {
  root: string
  manifest: string
  audit: string
  blobs: string
  quarantine: string
  snapshots: string
  spool: string
  state: string
  /** There once damage was found, until it was repaired: a list need not read the logs. */
  damaged: string
}

export const pathsIn = (root: string): SessionPaths => ({
  root,
  manifest: join(root, 'manifest.json'),
  audit: join(root, 'audit'),
  blobs: join(root, 'blobs'),
  quarantine: join(root, 'quarantine'),
  snapshots: join(root, 'snapshots'),
  spool: join(root, 'spool'),
  state: join(root, 'state'),
  damaged: join(root, 'damaged.json'),
})

/** An id from outside is checked before it becomes a part of a path. */
export function checkSessionId(id: unknown): asserts id is string {
  if (isSessionId(id)) return
  const shown = JSON.stringify(String(id).slice(0, 60))
  throw new StintError('SESSION_ID_INVALID', `${shown} is not a session id`)
}
