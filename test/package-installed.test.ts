import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { version } from '../src/cli/stint.ts'
import { registerConformance, storeConformance } from '../src/testing/index.ts'
import { blocksOf } from './support/doc-blocks.ts'
import { manifest, PackageConsumer, succeeded } from './support/package-consumer.ts'
import { projectRoot } from './support/world.ts'

const consumer = new PackageConsumer()
beforeAll(() => consumer.install())
afterAll(() => consumer[Symbol.asyncDispose]())

test('the package has no runtime dependency', () => {
  expect(manifest.dependencies ?? {}).toEqual({})
  expect(consumer.dependencies).toEqual([manifest.name])
})

test('the installed binary runs with npx and through its link in .bin', async () => {
  expect(await consumer.run('npx', ['--no-install', 'stint', '--version'])).toMatchObject({
    code: 0,
    stdout: `${version}\n`,
    stderr: '',
  })
  const linked = join(consumer.path, 'node_modules/.bin/stint')
  expect(await consumer.run(linked, ['run', '--', 'echo', 'hi'])).toMatchObject({
    code: 0,
    stdout: 'hi\n',
    stderr: '',
  })
  const result = await consumer.run(linked, ['run', '--json', '--', 'sh', '-c', 'test -d "$TMPDIR"'])
  expect(result.envelope()).toMatchObject({ ok: true, data: { exit_code: 0 } })
  expect(consumer.leftovers()).toEqual([])
})

test('a tool runs with only the installed package', async () => {
  const source = `#!/usr/bin/env node
    import { defineCommand, runMain } from 'stint/command'
    await runMain(defineCommand({ name: 'tool', run: (ctx) => ({ dir: ctx.tmpDir }) }))`
  const path = join(consumer.path, 'tool.js')
  writeFileSync(path, source)
  chmodSync(path, 0o755)
  const { data, meta } = succeeded(await consumer.run(path, [])).envelope()
  expect(data).toEqual({ dir: meta.session_tmp_dir })
  expect(dirname(meta.session_tmp_dir ?? '')).toBe(consumer.runs)
})

test('importing an adapter without the package that it is for says what to install', async () => {
  const packages = {
    langgraph: '@langchain/langgraph-checkpoint @langchain/core',
    'claude-agent-sdk': '@anthropic-ai/claude-agent-sdk',
    'openai-agents': '@openai/agents-core',
  }
  for (const [name, missing] of Object.entries(packages)) {
    const source = `await import('stint/${name}').catch(({ code, hint }) => console.log(code, hint))`
    const { stdout } = succeeded(await consumer.node('adapter.js', source))
    expect(stdout).toContain(`PEER_MISSING Run \`npm install ${missing}\`. `)
  }
})

test('npx finds the binary in this repository', async () => {
  const args = ['--no-install', 'stint', '--version']
  const { code, stdout } = await consumer.start('npx', args, { cwd: projectRoot }).finished
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` })
})

test('a driver written outside the package compiles and passes both conformance suites', async () => {
  const project = join(consumer.path, 'driver')
  cpSync(join(projectRoot, 'examples/driver'), project, { recursive: true })
  const tools = join(projectRoot, 'node_modules')
  const compile = [join(tools, 'typescript/bin/tsc'), '-p', project, '--typeRoots', join(tools, '@types')]
  succeeded(await consumer.run(process.execPath, compile))
  const { stdout } = succeeded(await consumer.run(process.execPath, ['driver/out/conformance.test.js']))
  const place = (): never => expect.unreachable()
  const cases = registerConformance(place).length + storeConformance(place).length
  // Without a terminal, Node 24 reports in another form than Node 20.
  expect(stdout).toMatch(new RegExp(`^[#ℹ] pass ${cases}$`, 'm'))
})

test('the code in docs/drivers.md is the code of the example, which stays small', () => {
  const names = ['memory-store.ts', 'memory-register.ts', 'conformance.test.ts']
  const source = names
    .map((name) => readFileSync(join(projectRoot, 'examples/driver', name), 'utf8'))
    .join('')
  const quoted = blocksOf('docs/drivers.md').filter(({ language }) => language === 'ts')
  expect(quoted.length).toBeGreaterThan(2)
  for (const { code } of quoted) expect(source).toContain(code.trimEnd())
  expect(source.split('\n').length).toBeLessThan(300)
})
