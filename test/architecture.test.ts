import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { namesOfSeveralFiles } from './support/house.ts'
import { filesIn, sourceImports } from './support/source-graph.ts'
import { projectRoot } from './support/world.ts'

const source = join(projectRoot, 'src')
const page = readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8')

/** Each folder in the page's table, with the folders it stands on. */
const documented = new Map(
  [...page.matchAll(/^\| `([\w-]+)\/` \|.*\|([^|]*)\|$/gm)].map(([, folder = '', below = '']) => [
    folder,
    below
      .trim()
      .split(', ')
      .filter((name) => name !== ''),
  ]),
)

/** Commands and the two servers answer for all rooms: they are one layer above the rooms, with `cli`. */
const folderOf = (file: string): string =>
  /^[\w-]+\/commands\/|^mcp\/|^ui\/server\//.test(file) ? 'cli' : (file.split('/')[0] ?? '')
const imports = sourceImports()

/** The folders that the code of this folder imports from, without `base`, which every folder may import. */
function importedFolders(folder: string): string[] {
  const targets = imports.filter(({ from }) => folderOf(from) === folder).map(({ to }) => folderOf(to))
  return [...new Set(targets)].filter((name) => name !== folder && name !== 'base')
}

test('the table of the architecture page lists every folder and the folders it imports from', () => {
  const folders = readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  expect([...documented.keys()].sort()).toEqual(folders.toSorted())
  for (const [folder, below] of documented)
    if (below.join() !== 'everything')
      expect(importedFolders(folder).sort(), folder).toEqual(below.toSorted())
})

test('imports between folders never form a cycle', () => {
  const folders = [...documented.keys()]
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    importedFolders(from).some((next) => {
      if (next === to) return true
      if (seen.has(next)) return false
      seen.add(next)
      return reaches(next, to, seen)
    })
  expect(folders.filter((folder) => reaches(folder, folder))).toEqual([])
  expect(importedFolders('base')).toEqual([])
})

test('every file that the architecture page names exists', () => {
  const named = [...page.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path = '']) => path)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((path) => !existsSync(join(source, path)))).toEqual([])
})

const behindDoors = new Set([
  'agents',
  'hooks',
  'lease',
  'points',
  'reading',
  'session',
  'scratch',
  'sweep',
  'secrets',
  'vault',
])
const outsideDoors = new Set([
  'cli',
  'command',
  'fixtures',
  'frameworks',
  'hooks',
  'postgres',
  'testing',
  'ui',
])

test('a domain is imported from outside only through its index.ts', () => {
  const around = imports
    .filter(({ from, to }) => from.split('/')[0] !== to.split('/')[0])
    .filter(({ from, to }) => outsideDoors.has(folderOf(from)) && behindDoors.has(folderOf(to)))
    .filter(({ to }) => to !== `${folderOf(to)}/index.ts`)
    .map(({ from, to }) => `${from} imports ${to}`)
  expect(around).toEqual([])
})

test('a name is exported by one file only', () => {
  expect(namesOfSeveralFiles()).toEqual([])
})

test('a test of a source file lies beside it, and its name begins with that of the file', () => {
  const tests = filesIn(['src', 'scripts'], ['.test.ts'])
  const proves = (test: string): boolean => {
    const [folder, words] = [dirname(test), basename(test, '.test.ts').split('-')]
    const names = words.map((_, index) => words.slice(0, index + 1).join('-'))
    return names.some(
      (name) =>
        ['.ts', '.tsx', '.mjs', '.sh'].some((extension) =>
          existsSync(join(projectRoot, folder, `${name}${extension}`)),
        ) ||
        (name === basename(folder) && existsSync(join(projectRoot, folder, 'index.ts'))),
    )
  }
  expect(tests.length).toBeGreaterThan(150)
  expect(tests.filter((test) => !proves(test))).toEqual([])
})

test('no comment line is wider than 110 columns', () => {
  const wide = filesIn(
    ['src', 'test', 'bench', 'scripts'],
    ['.ts', '.tsx', '.mjs', '.js', '.c', '.sh'],
  ).flatMap((file) =>
    readFileSync(join(projectRoot, file), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        line.length > 110 && /^\s*(?:\/\/|\/?\*)|^[^'"`]*\s\/\/ /.test(line)
          ? [`${file}:${index + 1} has ${line.length} columns`]
          : [],
      ),
  )
  expect(wide).toEqual([])
})
