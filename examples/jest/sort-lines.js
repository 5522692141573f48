const { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

/** Sorts the lines of a file by way of a copy in the temp directory, as real programs do. */
exports.sortLines = function sortLines(path) {
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
