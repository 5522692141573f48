import type { Sample } from '../../src/sweep/inventory/sample.ts'

/** A sample of zeros, except for the given fields. */
export const sample = (at: number, fields: Partial<Sample> = {}): Sample => ({
  schema_version: 1,
  at,
  by: 'watch',
  scratches: 0,
  live: 0,
  orphans: 0,
  files: 0,
  directories: 0,
  bytes: 0,
  disk_bytes: 0,
  created: 0,
  swept: 0,
  freed: 0,
  disk_freed: 0,
  orphans_found: 0,
  bytes_found: 0,
  disk_bytes_found: 0,
  ...fields,
})
