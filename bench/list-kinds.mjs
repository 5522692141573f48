// Lists sessions once and prints how long that took, in nanoseconds: a process that has never done so before.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What one would write without an index: each manifest is read, and no more. */
export function readManifests(home) {
  const sessions = join(home, 'sessions')
  let bytes = 0
  for (const name of readdirSync(sessions))
    if (!name.startsWith('.')) bytes += readFileSync(join(sessions, name, 'manifest.json')).length
  return bytes
}

const [kind, home, library] = process.argv.slice(2)
if (process.argv[1] === import.meta.filename) {
  const { filesystemStore } = await import(library)
  const store = filesystemStore({ home })
  const start = process.hrtime.bigint()
  if (kind === 'stint') await store.list()
  else readManifests(home)
  process.stdout.write(String(process.hrtime.bigint() - start))
}
