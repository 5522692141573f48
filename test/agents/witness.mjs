// Usage: node witness.mjs STINT DIRECTORY...
// Watches the text files of directories from outside, in a process of its own. Prints one line of JSON for
// each new line in a file: when it appeared, and the claims that were in force there then.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [stint, ...directories] = process.argv.slice(2)
// The scene may be killed; its witness then ends, too.
const parent = process.ppid
const seen = new Map()

/** The complete lines of a file that were not there at the last look. */
function newLines(path) {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  const known = seen.get(path) ?? 0
  seen.set(path, lines.length)
  return lines.slice(known)
}

function holdersIn(cwd) {
  const output = execFileSync(process.execPath, [stint, 'lock', 'status', '--json'], { cwd })
  return JSON.parse(output).data.claims.map(({ session_id }) => session_id)
}

console.log(JSON.stringify({ watching: directories }))
while (process.ppid === parent) {
  for (const directory of directories.filter(existsSync)) {
    const files = readdirSync(directory).filter((name) => name.endsWith('.txt'))
    const lines = files.flatMap((name) => newLines(join(directory, name)))
    const at = Date.now()
    if (lines.length === 0) continue
    const holders = holdersIn(directory)
    for (const text of lines) console.log(JSON.stringify({ at, text, holders }))
  }
  await sleep(10)
}
