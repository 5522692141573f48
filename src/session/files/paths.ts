import { join } from 'node:path'

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

export const sessionPathsIn = (root: string): SessionPaths => ({
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
