// The worker: one style sheet in, the same without comments and blank lines out.
import { readFileSync, writeFileSync } from 'node:fs'

const [input, output] = process.argv.slice(2)
try {
  const rules = readFileSync(input, 'utf8').replaceAll(/\/\*.*?\*\//gs, '')
  writeFileSync(output, rules.replaceAll(/^\s*\n/gm, ''))
} catch (error) {
  console.error(`transform: ${error.message}`)
  process.exitCode = 1
}
