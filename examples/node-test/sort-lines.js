import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Sorts the lines of a file by way of a copy in the temp directory, as real programs do. */
export function sortLines(path) {
  const work = mkdtempSync(join(tmpdir(), 'sort-'))
  try {
    const copy = join(work, 'lines')
    copyFileSync(path, copy)
    const lines = readFileSync(copy, 'utf8').trimEnd().split('\n')
    writeFileSync(path, `${lines.sort().join('\n')}\n`)
  } finally {
    rmSync(work, { recursive: true })
  }
}
