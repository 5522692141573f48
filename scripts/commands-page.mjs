// Writes docs/commands.md from what `stint … --help` prints; with --check, fails if the page differs.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const stint = (...words) =>
  execFileSync(process.execPath, [file('dist/bin/stint.cjs'), ...words], { encoding: 'utf8' })

const all = stint('--help', '--all')
const names = [...all.slice(all.indexOf('\nCommands:')).matchAll(/^ {2}([a-z]+(?: [a-z]+)?) {2,}/gm)].map(
  ([, name]) => name,
)
/** What every command has, and docs/environment.md explains. */
const common = /^ {2}(?:--quiet|--verbose|--json|-h, --help) (?:.*\n {3,})*.*\n/gm

const sections = names.map((name) => {
  const help = stint(...name.split(' '), '--help').replaceAll(common, '')
  return `## stint ${name}\n\n\`\`\`text\n${help.trim()}\n\`\`\`\n`
})
const page = `# Commands

What \`stint COMMAND --help\` prints. Every command also has \`--quiet\`, \`--verbose\`, \`--json\` and \`--help\`: see
[options of every command](environment.md#options-of-every-command). Made by \`npm run commands-page\`.

${sections.join('\n')}`

const path = file('docs/commands.md')
if (!process.argv.includes('--check')) writeFileSync(path, page)
else if (readFileSync(path, 'utf8') !== page) {
  console.error('docs/commands.md is not what --help prints: run npm run build && npm run commands-page')
  process.exitCode = 1
}
