import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from './support/world.ts'

const source = join(projectRoot, 'src')
const page = readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8')

/** Each folder in the page's table, with the folders it stands on. */
const told = new Map(
  [...page.matchAll(/^\| `([\w-]+)\/` \|.*\|([^|]*)\|$/gm)].map(([, folder = '', below = '']) => [
    folder,
    below
      .trim()
      .split(', ')
      .filter((name) => name !== ''),
  ]),
)

const folders = readdirSync(source, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** The folders that the code of this one imports from, but for those at the bottom. */
function importsOf(folder: string): string[] {
  const files = readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(source, folder, name))
  const targets = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(
      ([, target = '']) => relative(source, join(dirname(file), target)).split('/')[0] ?? '',
    ),
  )
  return [...new Set(targets)].filter((name) => name !== folder && name !== 'base')
}

test('the table of the architecture has every folder, and says what each stands on', () => {
  expect([...told.keys()].sort()).toEqual(folders.toSorted())
  for (const [folder, below] of told)
    if (below.join() !== 'everything') expect(importsOf(folder).sort(), folder).toEqual(below.toSorted())
})

test('every file that the architecture names is there', () => {
  const named = [...page.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => path)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((path) => !existsSync(join(source, path)))).toEqual([])
})
