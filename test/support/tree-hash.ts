import { createHash, type Hash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Hashes whole trees: names, types, modes, owners, change times and all bytes of the files. */
export function treeHash(...paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of paths) add(hash, path)
  return hash.digest('hex')
}

function add(hash: Hash, path: string): void {
  const stat = lstatSync(path, { bigint: true })
  hash.update(
    JSON.stringify([path, ...[stat.mode, stat.uid, stat.ino, stat.mtimeNs, stat.ctimeNs].map(String)]),
  )
  if (stat.isSymbolicLink()) hash.update(readlinkSync(path))
  else if (stat.isFile()) hash.update(readFileSync(path))
  else if (stat.isDirectory()) for (const name of readdirSync(path).sort()) add(hash, join(path, name))
}
