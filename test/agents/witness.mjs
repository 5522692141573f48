// Usage: node witness.mjs STINT REPOSITORY
// Watches the text files of a repository from outside, in a process of its own. Prints one line of JSON for
// each new line in a file: when it appeared, and the claims that stood then.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [stint, repository] = process.argv.slice(2)
// The scene may be killed; its witness then ends, too.
const parent = process.ppid
const seen = new Map()

/** The complete lines of a file that were not there at the last look. */
function newLines(file) {
  const lines = readFileSync(join(repository, file), 'utf8').split('\n').slice(0, -1)
  const known = seen.get(file) ?? 0
  seen.set(file, lines.length)
  return lines.slice(known)
}

function claims() {
  const output = execFileSync(process.execPath, [stint, 'lock', 'status', '--json'], { cwd: repository })
  return JSON.parse(output).data.claims.map(({ session_id, standing }) => ({ session_id, standing }))
}

console.log(JSON.stringify({ watching: repository }))
while (process.ppid === parent) {
  const files = readdirSync(repository).filter((name) => name.endsWith('.txt'))
  const lines = files.flatMap(newLines)
  const at = Date.now()
  if (lines.length > 0) {
    const standing = claims()
    for (const text of lines) console.log(JSON.stringify({ at, text, claims: standing }))
  }
  await sleep(10)
}
