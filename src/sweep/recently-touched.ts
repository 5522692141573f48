import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Beyond so many entries, all of them old, nobody looks further. */
const maxEntries = 100_000

/** Has anything in this tree changed since? What cannot be looked at may have. Yields every now and then. */
export function* hasChangesSince(top: string, since: number): Generator<void, boolean> {
  const directories = [top]
  let looked = 0
  for (let path = directories.pop(); path !== undefined; path = directories.pop()) {
    yield
    try {
      for (const name of readdirSync(path)) {
        const entry = join(path, name)
        const stat = lstatSync(entry, { throwIfNoEntry: false })
        if (stat === undefined) continue
        if (Math.max(stat.mtimeMs, stat.ctimeMs) >= since) return true
        if (stat.isDirectory()) directories.push(entry)
        looked += 1
        if (looked > maxEntries) return false
      }
    } catch {
      return true
    }
  }
  return false
}
