import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { projectRoot, stintBin, World } from '../support/world.ts'
import { HttpServer } from './http-server.ts'

const program = (name: string): string => join(projectRoot, 'test/mcp/tools/node_modules/.bin', name)

/** The scenarios about what the server offers; the others are in `expected-failures.yml`. */
const offered = [
  'server-initialize',
  'ping',
  'tools-list',
  'tools-call-simple-text',
  'tools-call-error',
  'tools-call-with-progress',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
].map((name) => `✓ ${name}`)

test('the official conformance tool finds no fault in what the server offers', async () => {
  await using world = new World()
  vi.stubEnv('STINT_HOME', join(world.tmp, 'home'))
  await using server = await HttpServer.listen()
  const expected = join(projectRoot, 'test/mcp/expected-failures.yml')
  const args = ['server', '--url', server.url, '--expected-failures', expected]
  const ended = await world.start(process.execPath, [program('conformance'), ...args], { cwd: world.tmp })
    .finished
  const [, summary = ''] = ended.stdout.split('=== SUMMARY ===')
  expect([ended.code, summary.match(/✓ .*(?=: [1-9]\d* passed, 0 failed)/g)]).toEqual([0, offered])
  vi.unstubAllEnvs()
})

/** Calls the server by the Inspector's command line, which starts it, calls one method and ends it. */
async function inspect(world: World, ...args: string[]): Promise<Record<string, unknown>> {
  const server = [process.execPath, stintBin, 'mcp', '--cwd', world.tmp]
  const words = [program('mcp-inspector'), '--cli', ...server, '-e', `STINT_HOME=${world.tmp}/home`, ...args]
  const env = { HOME: world.tmp }
  const { code, stdout, stderr } = await world.start(process.execPath, words, { env }).finished
  if (code !== 0) throw new Error(`exit ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout) as Record<string, unknown>
}

test('the Inspector lists the tools, finds no error in their schemas, and calls them', async () => {
  await using world = new World()
  const { tools } = await inspect(world, '--method', 'tools/list', '--strict')
  expect(tools).toHaveLength(8)
  const call = (name: string, ...args: string[]): Promise<Record<string, unknown>> =>
    inspect(world, '--method', 'tools/call', '--tool-name', name, ...args)
  const claimed = await call('claim', '--tool-arg', 'paths=["src"]', 'purpose=new routes')
  // Outside of repositories, claims are absolute paths.
  expect(claimed.structuredContent).toMatchObject({ granted: true, paths: [join(world.tmp, 'src')] })
  // The claim has ended with the server that the Inspector ended.
  const { structuredContent } = await call('history')
  expect(structuredContent).toMatchObject({
    activities: [{ kind: 'grant', purpose: 'new routes' }, { kind: 'release' }],
  })
  expect((await call('who')).structuredContent).toMatchObject({ workspaces: [] })
})
