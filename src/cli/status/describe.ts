import type { ClaimedTarget } from '../../lease/index.ts'
import type { MeasuredEntry } from '../../sweep/index.ts'
import { describeTarget } from '../lock/lock-options.ts'
import { describeClaim } from '../lock/describe.ts'

export const describeWorkspace = (
  { key, workspace, claims, observation }: ClaimedTarget,
  store: 'files' | 'postgres',
) => ({
  ...describeTarget({ key, name: workspace }),
  store,
  claims: claims.map((claim) => describeClaim(claim, observation)),
})

export const describeRun = (entry: MeasuredEntry) => ({
  request_id: entry.request_id,
  session_id: entry.session_id,
  command: entry.command,
  pid: entry.pid,
  liveness: entry.liveness,
  path: entry.path,
  bytes: entry.bytes,
  files: entry.files,
  /** It is at least so much: there was no time to count everything. */
  partial: entry.partial ?? false,
  created_at: entry.created_at,
  age_ms: entry.age_ms,
})
