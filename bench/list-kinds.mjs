// Lists sessions once in a new process, and prints the nanoseconds that it took.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The number of rows that `stint sessions list` shows. */
export const newest = 20

/** The floor: reads the manifest of each session, and nothing else. */
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
  if (kind === 'stint') await store.list({ newest })
  else readManifests(home)
  process.stdout.write(String(process.hrtime.bigint() - start))
}
