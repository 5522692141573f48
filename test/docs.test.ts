import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type ErrorEntry, errorTable } from '../src/base/errors/error-table.ts'
import { blocksOf, readPage } from './support/doc-blocks.ts'
import { validEnvelope } from './support/envelope.ts'
import { installFrameworks } from './support/framework-packages.ts'
import { projectRoot, stintBin, World } from './support/world.ts'

const pagesIn = (directory: string): string[] =>
  readdirSync(join(projectRoot, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name))

const examples = readdirSync(join(projectRoot, 'examples')).flatMap((name) => pagesIn(`examples/${name}`))
const pages = [...pagesIn('.'), ...pagesIn('docs'), ...pagesIn('bench'), ...examples]

const blocks = pages.flatMap(blocksOf)
const ofLanguage = (language: string) =>
  blocks.filter((block) => block.language === language && !block.page.startsWith('bench/'))

/** The page whose programs use an agent framework. */
const frameworksPage = 'docs/frameworks.md'

/** A directory with `stint` installed, as a user has it. */
class UserWorld extends World {
  constructor(page = '') {
    super()
    mkdirSync(join(this.tmp, 'node_modules/.bin'), { recursive: true })
    this.env.STINT_HOME = join(this.tmp, 'home')
    // The commands of the pages change the settings of this user, not of the developer who runs the tests.
    this.env.HOME = join(this.tmp, 'user')
    mkdirSync(join(this.env.HOME, '.claude'), { recursive: true })
    if (page === frameworksPage) installFrameworks(this.tmp)
    else symlinkSync(projectRoot, join(this.tmp, 'node_modules/stint'))
    for (const name of ['stint', 'stint-hook'])
      symlinkSync(join(dirname(stintBin), `${name}.cjs`), join(this.tmp, 'node_modules/.bin', name))
    this.env.PATH = `${join(this.tmp, 'node_modules/.bin')}:${this.env.PATH ?? ''}`
  }
}

const shellLines = ofLanguage('sh').flatMap(({ page, code }) =>
  code
    .trim()
    .split('\n')
    .map((line) => [page, line]),
)
const repositoryLines = ['npm ci && npm test']
/** Programs that begin with their name, `// tool.mjs`: shell lines of the same page run them. */
const nameOf = (code: string): string | undefined => /^\/\/ ([\w-]+\.mjs)\n/.exec(code)?.[1]
const programsOn = (page: string): [name: string, code: string][] =>
  ofLanguage('js').flatMap((block) => {
    const name = nameOf(block.code)
    return block.page === page && name !== undefined ? [[name, block.code] as [string, string]] : []
  })
const installAndRun = 'npm install && npx stint'
const addToProject = 'npm install --save-dev ../stint'
/** The same without the network, and without building the clone that other tests use. */
const addOffline = `npm install --offline --no-audit --ignore-scripts --save-dev ${projectRoot}`

test.concurrent.each(shellLines.filter(([, line = '']) => !repositoryLines.includes(line)))(
  '%s: `%s` works',
  async (page = '', line = '') => {
    await using world = new UserWorld()
    // Beside the temp directory: `node --test` looks at every file, and fails at the links of scratches.
    const project = join(world.tmp, 'project')
    mkdirSync(project)
    for (const [name, code] of programsOn(page)) writeFileSync(join(project, name), code)
    const command = line.replace(installAndRun, 'stint').replace(addToProject, addOffline)
    // The examples run in a clone.
    const cwd = examples.includes(page) ? projectRoot : project
    const { code, stderr } = await world.start('sh', ['-c', command], { cwd }).finished
    expect(stderr).not.toMatch(/error|not found/i)
    expect(code).toBe(0)
  },
)

test('the README begins with the demo and the tests, and CI runs the tests', () => {
  const [first, second] = shellLines.filter(([page]) => page === 'README.md').map(([, line]) => line)
  expect(first).toBe(`${installAndRun} demo`)
  expect(second).toBe(repositoryLines[0])
  expect(readPage('.ci/run')).toContain(`\n${second}\n`)
})

test('docs/commands.md has what --help prints', async () => {
  await using world = new World()
  const script = join(projectRoot, 'scripts/commands-page.mjs')
  const { code, stderr } = await world.start(process.execPath, [script, '--check']).finished
  expect([code, stderr]).toEqual([0, ''])
})

test('every test that the guarantees page names exists', () => {
  const named = [...readPage('docs/guarantees.md').matchAll(/`((?:src|test)\/[\w./-]+\.ts)`/g)].map(
    ([, path]) => path,
  )
  expect(named.length).toBeGreaterThan(20)
  for (const path of named) expect(existsSync(join(projectRoot, path ?? '')), path).toBe(true)
})

const roomReadmes = readdirSync(join(projectRoot, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `src/${name}/README.md`)

test.each(roomReadmes)('%s is short, and every file that it names exists', (path) => {
  const text = readPage(path)
  expect(text.split('\n').length).toBeLessThanOrEqual(22)
  for (const part of ['Promises', 'Stands on', 'Start reading', 'Proved by'])
    expect(text).toContain(`- **${part}**: `)
  const named = [...text.matchAll(/`([\w./-]+\.(?:tsx?|sh|md)|[\w/-]+\/)`/g)].map(([, name = '']) => name)
  const roots = [dirname(path), 'src', '.'].map((folder) => join(projectRoot, folder))
  expect(named.filter((name) => !roots.some((root) => existsSync(join(root, name))))).toEqual([])
})

const programs = ofLanguage('js').filter(({ code }) => nameOf(code) === undefined)
test.concurrent.each(programs)('$page: the program works (%#)', async ({ page, code }) => {
  await using world = new UserWorld(page)
  const file = join(world.tmp, 'program.mjs')
  writeFileSync(file, code)
  const {
    code: exit,
    stdout,
    stderr,
  } = await world.start(process.execPath, [file], { cwd: world.tmp }).finished
  expect(stderr).toBe('')
  expect(exit).toBe(0)
  expect(stdout).not.toBe('')
  expect(world.leftovers()).toEqual([])
})

test.each(['stint/langgraph', 'stint/claude-agent-sdk', 'stint/openai-agents'])(
  '`require` of %s fails as the page of frameworks says, and `import` works',
  async (entry) => {
    await using world = new UserWorld(frameworksPage)
    const run = (code: string) => world.start(process.execPath, ['-e', code], { cwd: world.tmp }).finished
    const required = await run(`require('${entry}')`)
    const [reason = 'no reason'] = /ERR_REQUIRE_\w+/.exec(required.stderr) ?? []
    expect(readPage(frameworksPage)).toContain(`\`${reason}\``)
    expect(await run(`import('${entry}')`)).toMatchObject({ code: 0, stderr: '' })
  },
)

test('every JSON block in the docs parses, and every envelope is valid', () => {
  for (const { code } of ofLanguage('json')) {
    const value = JSON.parse(code) as object
    expect('ok' in value ? validEnvelope(`${JSON.stringify(value)}\n`) : value).toEqual(value)
  }
})

test('docs/errors.md has a section for each error code, with exit code and hint, and no others', () => {
  const sections = new Map(
    readPage('docs/errors.md')
      .split(/^## /m)
      .slice(1)
      .map((text) => [text.slice(0, text.indexOf('\n')), text] as const),
  )
  expect([...sections.keys()]).toEqual(Object.keys(errorTable))
  for (const [code, entry] of Object.entries(errorTable) as [string, ErrorEntry][]) {
    const text = sections.get(code) ?? ''
    expect(text).toContain(entry.hint)
    if (code !== 'CHILD_FAILED') expect(text).toContain(`Exit ${entry.exit}`)
    expect(text.includes(', retryable')).toBe(entry.retryable)
  }
})

/** GitHub's anchor of a heading: lower case, without punctuation, dashes for spaces. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )

const links = pages.flatMap((page) =>
  [...readPage(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, target = '', anchor]) => ({
    page,
    path: target === '' ? page : join(page, '..', target),
    anchor,
  })),
)

test.each(links)('$page: the link to $path leads somewhere', ({ path, anchor }) => {
  const text = readPage(path)
  expect(text).not.toBe('')
  if (anchor !== undefined) expect(anchorsOf(text)).toContain(anchor)
})
