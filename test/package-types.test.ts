import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf } from './support/doc-blocks.ts'
import { PackageConsumer, succeeded } from './support/package-consumer.ts'
import { promised, specifier } from './support/package-promises.ts'
import { projectRoot } from './support/world.ts'

const tool = (path: string): string => join(projectRoot, 'node_modules', path)

const consumer = new PackageConsumer()
beforeAll(async () => {
  await consumer.unpack()
  // Users of a subpath have the package installed that it is for.
  consumer.linkPeers()
})
afterAll(() => consumer[Symbol.asyncDispose]())

/** Programs in the docs that only an agent with a model can run: they must fit the types of its framework. */
const frameworkPrograms = Object.fromEntries(
  blocksOf('docs/frameworks.md')
    .filter(({ language }) => language === 'ts')
    .map(({ code }, index) => [`program-${index}.ts`, code]),
)

/** The subpaths for agent frameworks, whose own types are large. */
const frameworkSubpaths = new Set(['./claude-agent-sdk', './langgraph', './openai-agents'])

/** A program that imports these subpaths. */
const importing = (subpaths: readonly string[]): string =>
  subpaths
    .map((subpath, index) =>
      promised[subpath] === 'JSON'
        ? `export { default as module${index} } from '${specifier(subpath)}' with { type: 'json' }`
        : `export * as module${index} from '${specifier(subpath)}'`,
    )
    .join('\n')

const subpaths = Object.keys(promised)
const withoutFrameworks = subpaths.filter((subpath) => !frameworkSubpaths.has(subpath))

test.each<[string, string, Record<string, string>]>([
  ['nodenext', 'nodenext', { 'subpaths.ts': importing(subpaths), ...frameworkPrograms }],
  ['esnext', 'bundler', { 'subpaths.ts': importing(withoutFrameworks) }],
])(
  'types resolve and check with module %s and moduleResolution %s',
  async (module, moduleResolution, files) => {
    const project = join(consumer.path, moduleResolution)
    mkdirSync(project)
    copyFileSync(join(projectRoot, 'test/fixtures/consumer.ts'), join(project, 'main.ts'))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text)
    const compilerOptions = {
      module,
      moduleResolution,
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      strict: true,
      exactOptionalPropertyTypes: true,
      resolveJsonModule: true,
      skipLibCheck: false,
      noEmit: true,
      types: ['node'],
      typeRoots: [tool('@types')],
    }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    const { stdout } = await consumer.run(process.execPath, [tool('typescript/bin/tsc'), '-p', project])
    // The types of a peer need not be as strict as ours.
    const isOurs = (error: string): boolean => error !== '' && !/^\S*node_modules\/(?!stint\/)/.test(error)
    expect(
      stdout
        .trimEnd()
        .split(/\n(?! )/)
        .filter(isOurs),
    ).toEqual([])
  },
)

test('an option without help is an error that says so', async () => {
  const project = join(consumer.path, 'help')
  mkdirSync(project)
  const source = `import { defineCommand } from 'stint/command'
    defineCommand({ name: 'x', options: { name: { type: 'string' } }, run: (_, { options }) => options.name })`
  writeFileSync(join(project, 'main.ts'), source)
  const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--noEmit']
  const types = ['--skipLibCheck', '--types', 'node', '--typeRoots', tool('@types')]
  const args = [tool('typescript/bin/tsc'), ...options, ...types, join(project, 'main.ts')]
  const { stdout } = await consumer.run(process.execPath, args)
  expect(stdout).toContain("Property 'help' is missing")
  expect(stdout.match(/error TS/g)).toHaveLength(1)
})

test('arethetypeswrong finds no problem with the types of any subpath', async () => {
  const attw = tool('@arethetypeswrong/cli/dist/index.js')
  const args = [attw, consumer.tarball, '--profile', 'esm-only', '--format', 'json']
  const { stdout } = succeeded(await consumer.run(process.execPath, args))
  const { analysis } = JSON.parse(stdout) as { analysis: { entrypoints: Record<string, unknown> } }
  expect(Object.keys(analysis.entrypoints).sort()).toEqual(Object.keys(promised).sort())
})
