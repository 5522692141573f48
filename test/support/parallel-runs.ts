import { basename } from 'node:path'
import type { World } from './world.ts'

/** Starts this many `stint run`, 8 at a time; returns the temp directories that they were given. */
export async function parallelRuns(world: World, count: number): Promise<Set<string>> {
  const directories = new Set<string>()
  let started = 0
  const worker = async (): Promise<void> => {
    while (started < count) {
      started += 1
      const script = 'test -d "$TMPDIR" && echo "$TMPDIR $STINT_REQUEST_ID"; echo x > "$TMPDIR/file"'
      const { stdout, code } = await world.stint(['run', '--', 'sh', '-c', script])
      const [path = '', id] = stdout.trim().split(' ')
      if (code !== 0 || basename(path) !== id) throw new Error(`exit code ${code}, ${stdout}`)
      directories.add(path)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return directories
}
