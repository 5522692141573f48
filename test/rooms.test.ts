import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from './support/world.ts'

/**
 * The most production lines and files that each room may have: everything of `src/` that is not a test. A
 * higher number is a commit of its own, which says why.
 */
const budgets: Readonly<Record<string, { lines: number; files: number }>> = {
  agents: { lines: 554, files: 7 },
  base: { lines: 3324, files: 35 },
  cli: { lines: 3654, files: 30 },
  command: { lines: 2631, files: 18 },
  driver: { lines: 48, files: 2 },
  fixtures: { lines: 712, files: 14 },
  frameworks: { lines: 1031, files: 10 },
  hooks: { lines: 6816, files: 58 },
  lease: { lines: 4327, files: 28 },
  mcp: { lines: 1121, files: 9 },
  points: { lines: 2903, files: 23 },
  postgres: { lines: 2253, files: 21 },
  scratch: { lines: 1470, files: 10 },
  secrets: { lines: 677, files: 6 },
  session: { lines: 8986, files: 54 },
  sweep: { lines: 2146, files: 16 },
  testing: { lines: 1644, files: 13 },
  ui: { lines: 4590, files: 32 },
  vault: { lines: 2073, files: 20 },
}
/** All rooms and `src/index.ts`. */
const whole = { lines: 51_050, files: 407 }

const source = join(projectRoot, 'src')

function sizeOf(paths: readonly string[]): { lines: number; files: number } {
  const lines = paths.map((path) => readFileSync(path, 'utf8').split('\n').length - 1)
  return { lines: lines.reduce((sum, count) => sum + count, 0), files: paths.length }
}

function productionFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
}

test('no room has more lines or files than its budget, and every room has one', () => {
  const rooms = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(Object.keys(budgets).toSorted()).toEqual(rooms.map(({ name }) => name).toSorted())
  for (const [room, budget] of Object.entries(budgets)) {
    const { lines, files } = sizeOf(productionFiles(join(source, room)))
    expect.soft(lines, `lines of ${room}`).toBeLessThanOrEqual(budget.lines)
    expect.soft(files, `files of ${room}`).toBeLessThanOrEqual(budget.files)
  }
})

test('the whole house keeps to its budget', () => {
  const { lines, files } = sizeOf(productionFiles(source))
  expect.soft(lines, 'lines').toBeLessThanOrEqual(whole.lines)
  expect.soft(files, 'files').toBeLessThanOrEqual(whole.files)
})

/** Words of a page. Table borders, brackets and other marks without a letter or digit are none. */
const wordsIn = (page: string): number =>
  readFileSync(join(projectRoot, page), 'utf8')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length

test('the documentation has at most 30,000 words, and a page for users at most 1,500', () => {
  const generated = 'docs/commands.md'
  const forEngineers = new Set(['docs/architecture.md', 'docs/guarantees.md', 'docs/errors.md'])
  const pages = readdirSync(join(projectRoot, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .filter((page) => page !== generated)
  for (const page of pages.filter((name) => !forEngineers.has(name)))
    expect.soft(wordsIn(page), page).toBeLessThanOrEqual(1_500)
  expect.soft(wordsIn('docs/guarantees.md'), 'docs/guarantees.md').toBeLessThanOrEqual(2_500)
  expect.soft(wordsIn('README.md'), 'README.md').toBeLessThanOrEqual(700)
  const words = ['README.md', 'CONTRIBUTING.md', ...pages].map(wordsIn).reduce((sum, count) => sum + count, 0)
  expect(words).toBeLessThanOrEqual(30_000)
})
