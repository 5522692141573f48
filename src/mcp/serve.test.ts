import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { hookBin, hookEvent, HookWorld } from '../../test/support/hook-host.ts'
import { stintBin, until } from '../../test/support/world.ts'

type Era = '2025' | '2026'

/** A world whose agent, this process, starts servers as MCP clients do. */
class McpWorld extends HookWorld {
  readonly #clients: { client: Client; transport: StdioClientTransport }[] = []

  /**
   * Starts a server, and returns a function that calls its tools. With `session`, the server belongs to an
   * agent with a process of its own.
   */
  async connect({
    era = '2026',
    env = {},
    session,
  }: { era?: Era; env?: NodeJS.ProcessEnv; session?: string } = {}) {
    const negotiation = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
    const client = new Client({ name: 'test', version: '1' }, era === '2026' ? negotiation : {})
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: session === undefined ? [stintBin, 'mcp'] : ['-e', this.#agent(session)],
      cwd: this.workspace,
      env: { ...this.env, ...env } as Record<string, string>,
    })
    await client.connect(transport)
    this.#clients.push({ client, transport })
    const call = async (name: string, args: object = {}, options: object = {}) => {
      const result = await client.callTool({ name, arguments: { ...args } }, options)
      const [content] = result.content as { text: string }[]
      return {
        data: result.structuredContent ?? {},
        text: content?.text ?? '',
        isError: result.isError === true,
      }
    }
    return { client, call, pid: transport.pid ?? 0 }
  }

  /** A program that acts as an agent: it sends a prompt to its hook, and starts a server for its client. */
  #agent(session: string): string {
    const input = JSON.stringify(hookEvent('claude', 'prompt', { cwd: this.workspace, session }))
    return `const { spawn, spawnSync } = require('node:child_process')
      spawnSync(process.execPath, [${JSON.stringify(hookBin)}, 'claude'], { input: ${JSON.stringify(input)} })
      const server = spawn(process.execPath, [${JSON.stringify(stintBin)}, 'mcp'], { stdio: 'inherit' })
      server.on('exit', (code) => process.exit(code))`
  }

  /** The user enters a prompt, which makes the session known. */
  async prompt(session: string, prompt: string): Promise<void> {
    const event = hookEvent('claude', 'prompt', { cwd: this.workspace, session })
    await this.hook('claude', 'prompt', { input: JSON.stringify({ ...event, prompt }) })
  }

  get holders(): string[] {
    return this.claims.map(({ session_id }) => session_id).sort()
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map(({ client }) => client.close()))
    await super[Symbol.asyncDispose]()
  }
}

test.each(['2025', '2026'] as const)('a client of %s sees, claims and releases a workspace', async (era) => {
  await using world = new McpWorld()
  const { client, call } = await world.connect({ era })
  const { tools } = await client.listTools()
  expect(
    tools
      .map(({ name }) => name)
      .sort()
      .join(' '),
  ).toBe('changes claim diff history release search_sessions wait_until_free who')
  expect(tools.every(({ description, annotations }) => description && annotations)).toBe(true)
  expect(await call('who')).toMatchObject({ text: expect.stringContaining('is free') })
  const granted = await call('claim', { purpose: 'new routes', paths: ['src'] })
  expect(granted.data).toMatchObject({ granted: true, workspace: world.workspace, paths: ['src'] })
  expect((await call('who')).data).toMatchObject({
    workspaces: [{ claims: [{ paths: ['src'], purpose: 'new routes', state: 'held' }] }],
  })
  expect((await call('release')).data).toMatchObject({ released: true })
  expect((await call('release')).data).toMatchObject({ released: false })
  expect(world.claims).toEqual([])
  const past = await call('history')
  expect(past.text).toMatch(/granted src, new routes\n.* released after/)
  // Neither says anything to a model.
  expect(JSON.stringify([granted, past, await call('who')])).not.toMatch(/fence|workspace_key/)
})

test('a client sees which session changed what, and the diff of it', async () => {
  await using world = new McpWorld()
  const { call } = await world.connect()
  const elsewhere = { workspace: world.tmp }
  expect((await call('changes', elsewhere)).text).toMatch(/^POINTS_OFF: /)
  expect((await call('changes')).text).toMatch(/^NOT_FOUND: no restore point/)
  for (const name of ['first', 'second'])
    await world.stint(['run', '--lock', '--session', name, '--', 'sh', '-c', `echo ${name} > ${name}.txt`], {
      cwd: world.workspace,
    })
  const { data, text } = await call('changes', { session: 'second' })
  expect(data).toMatchObject({ sets: [{ session_id: 'second', files: [{ path: 'second.txt' }] }] })
  expect(text).toMatch(/second/)
  const patch = await call('diff', { of: 'first' })
  expect(patch.text).toContain('+++ b/first.txt\n@@ -0,0 +1 @@\n+first\n')
  expect((await call('diff', { of: 'first', paths: ['second.txt'] })).text).toBe('no difference')
  expect(await call('diff', { paths: ['../elsewhere'] })).toMatchObject({ isError: true })
})

test('a refusal names the paths that are in the way, and only those', async () => {
  await using world = new McpWorld()
  const [first, second] = [await world.connect(), await world.connect()]
  await first.call('claim', { paths: ['src/x', 'docs'] })
  const refused = await second.call('claim', { paths: ['src', 'test'] })
  const inTheWay = expect.stringMatching(/^src\/x in .* is held by /)
  expect(refused.data).toMatchObject({ granted: false, reason: inTheWay })
  const waited = await second.call('wait_until_free', { wait_seconds: 0 })
  expect(waited.data).toMatchObject({ free: false, reason: expect.stringMatching(/^docs src\/x in /) })
})

test('granted means granted: of two servers, one gets the files, and the other learns who has them', async () => {
  await using world = new McpWorld()
  const [first, second] = [await world.connect(), await world.connect()]
  expect((await first.call('claim', { purpose: 'tidy up' })).data).toMatchObject({ granted: true })
  const refused = await second.call('claim', { paths: ['src/a.ts'] })
  expect(refused.data).toMatchObject({ granted: false, reason: expect.stringContaining('tidy up') })
  expect(refused.isError).toBe(false)
  expect((await second.call('wait_until_free', { wait_seconds: 0 })).data).toMatchObject({ free: false })
  const waiting = second.call('claim', { paths: ['src/a.ts'], wait_seconds: 60 })
  await until('it waits', async () => (await world.lock(['status'])).stdout.includes('waited_ms'))
  await first.call('release')
  expect((await waiting).data).toMatchObject({ granted: true, paths: ['src/a.ts'] })
  expect((await first.call('claim', { paths: ['docs'] })).data).toMatchObject({ granted: true })
})

test('a server works for its agent: the two are never in the way of each other', async () => {
  await using world = new McpWorld()
  await world.prompt('session-a', 'new routes')
  const { call } = await world.connect()
  expect((await call('claim')).data).toMatchObject({ granted: true, session_id: 'session-a.mcp' })
  expect((await world.hook('claude', 'edit')).allowed).toBe(true)
  expect((await world.hook('codex', 'pre', { session: 'other' })).allowed).toBe(false)
  // The end of the turn releases what the hooks took; the claim of the server stays until it is released.
  await world.hook('claude', 'post', { call: 'call-1' })
  await world.hook('claude', 'stop')
  expect(world.holders).toContain('session-a.mcp')
  expect((await world.hook('codex', 'pre', { session: 'other' })).allowed).toBe(false)
  await call('release')
  expect(world.holders).not.toContain('session-a.mcp')
})

test('the end of the session ends the claims of its server, also by /clear; the next session gets its own', async () => {
  await using world = new McpWorld()
  await world.prompt('session-a', 'new routes')
  const { call } = await world.connect()
  await call('claim')
  await call('claim', { resource: 'deploy' })
  const say = async (moment: 'start' | 'end', session: string, more: object) => {
    const event = { ...hookEvent('claude', moment, { cwd: world.workspace, session }), ...more }
    return (await world.hook('claude', moment, { input: JSON.stringify(event) })).ended.stdout
  }
  await say('end', 'session-a', { reason: 'clear' })
  expect(world.claims).toEqual([])
  const told = await say('start', 'session-b', { source: 'clear' })
  expect(JSON.parse(told)).toMatchObject({
    hookSpecificOutput: {
      hookEventName: 'SessionStart',
      additionalContext: expect.stringMatching(/ session-b:/),
    },
  })
  await world.prompt('session-b', 'tidy up')
  expect((await call('claim')).data).toMatchObject({ granted: true, session_id: 'session-b.mcp' })
  expect((await world.hook('claude', 'edit', { session: 'session-b' })).allowed).toBe(true)
})

test('sessions that share a process: the hook tells each model its id, with which its tools know it', async () => {
  await using world = new McpWorld()
  const ids = ['thread-1', 'thread-2']
  const told = await Promise.all(
    ids.map(async (session) => (await world.hook('codex', 'start', { session })).ended.stdout),
  )
  const named = told.map((line) => /session as ([\w-]+):/.exec(line)?.[1])
  expect(named).toEqual(ids)
  for (const session of ids) await world.hook('codex', 'prompt', { session })
  const { call } = await world.connect()
  expect(await call('claim')).toMatchObject({
    isError: true,
    text: expect.stringContaining('several sessions'),
  })
  expect((await call('claim', { session: named[0] })).data).toMatchObject({ granted: true })
  expect((await call('claim', { session: named[1] })).data).toMatchObject({ granted: false })
  expect((await world.hook('codex', 'edit', { session: 'thread-1' })).allowed).toBe(true)
  expect((await world.hook('codex', 'edit', { session: 'thread-2' })).allowed).toBe(false)
})

test('a session that starts in a process of its own is not told its id', async () => {
  await using world = new McpWorld()
  expect((await world.hook('claude', 'start')).ended.stdout).toBe('')
})

test('servers of two agents: conflicting claims exclude each other, and end with the client of their server', async () => {
  await using world = new McpWorld()
  const [one, two] = [
    await world.connect({ session: 'agent-1' }),
    await world.connect({ session: 'agent-2' }),
  ]
  const claimed = await one.call('claim', { paths: ['src'], purpose: 'new routes' })
  expect(claimed.data).toMatchObject({ granted: true, session_id: 'agent-1.mcp' })
  const refused = await two.call('claim', { paths: ['src/a.ts'] })
  expect(refused.data).toMatchObject({ granted: false, reason: expect.stringContaining('new routes') })
  expect((await two.call('claim', { paths: ['docs'] })).data).toMatchObject({ session_id: 'agent-2.mcp' })
  expect((await two.call('who')).data).toMatchObject({
    workspaces: [{ claims: [{ session_id: 'agent-1.mcp' }, { session_id: 'agent-2.mcp' }] }],
  })
  // An edit by the hooks of either needs the whole workspace.
  for (const session of ['agent-1', 'agent-2'])
    expect((await world.hook('claude', 'edit', { session })).allowed).toBe(false)
  const waiting = two.call('wait_until_free', { paths: ['src'] })
  await one.client.close()
  expect((await waiting).data).toMatchObject({ free: true })
  expect((await world.hook('claude', 'edit', { session: 'agent-2' })).allowed).toBe(true)
})

test('an agent with several sessions is asked for its own, by the words of their prompts', async () => {
  await using world = new McpWorld()
  await world.prompt('session-a', 'new routes')
  await world.prompt('session-b', 'tidy up')
  const { call } = await world.connect()
  const asked = await call('claim')
  expect(asked).toMatchObject({ isError: true, text: expect.stringContaining('session-b ("tidy up")') })
  expect((await call('claim', { session: 'session-c' })).isError).toBe(true)
  expect(world.claims).toEqual([])
  const granted = await call('claim', { session: 'session-b' })
  expect(granted.data).toMatchObject({ granted: true, session_id: 'session-b.mcp' })
  const named = await world.connect({ env: { CLAUDE_CODE_SESSION_ID: 'session-a' } })
  expect((await named.call('claim')).data).toMatchObject({ granted: false })
})

test.each([
  ['claim', { wait_seconds: 600 }],
  ['wait_until_free', { wait_seconds: 600 }],
])('%s tells for whom it waits; cancelled, it ends at once and leaves nothing', async (tool, args) => {
  await using world = new McpWorld()
  const [first, second] = [await world.connect(), await world.connect()]
  await first.call('claim')
  const abort = new AbortController()
  const told: string[] = []
  const onprogress = ({ message = '' }: { message?: string }): unknown => told.push(message)
  const waiting = second.call(tool, args, { signal: abort.signal, onprogress })
  await until('it tells its progress', () => told.length > 0)
  expect(told[0]).toBe(`waiting for ${world.holders[0]}`)
  abort.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await until('it waits no more', async () => !(await world.lock(['status'])).stdout.includes('waited_ms'))
  const silent = told.length
  await first.call('release')
  expect((await second.call('wait_until_free')).data).toMatchObject({ free: true })
  expect([world.claims, told.length]).toEqual([[], silent])
})

test('bad arguments are answered with what to do, and change nothing', async () => {
  await using world = new McpWorld()
  const { call } = await world.connect()
  const bad = [
    { workspace: join(world.tmp, 'none') },
    { paths: ['..'] },
    { workspace: '.', resource: 'deploy' },
    { resource: '' },
    { paths: 'src' },
    { paths: [''] },
    { paths: [] },
    { paths: Array.from({ length: 1001 }, (_, index) => `src/${index}`) },
    { wait_seconds: -1 },
  ]
  for (const args of bad) {
    const { isError, text } = await call('claim', args)
    expect([args, isError, text]).toEqual([args, true, expect.stringMatching(/\w/)])
    expect(text).not.toMatch(/\n\s+at /)
  }
  expect(world.claims).toEqual([])
  expect((await call('who')).isError).toBe(false)
})

test.each([
  [
    'claim',
    { timeout_seconds: 5 },
    'claim has no argument timeout_seconds; its arguments are .*wait_seconds',
  ],
  ['wait_until_free', { timeout: 5 }, 'wait_until_free has no argument timeout; .* wait_seconds'],
  ['who', { directory: '.' }, 'who has no argument directory; its arguments are workspace, resource, all'],
])('%s with an unknown argument is answered with the right ones: %j', async (tool, args, answer) => {
  await using world = new McpWorld()
  const { call } = await world.connect()
  expect(await call(tool, args)).toMatchObject({ isError: true, text: expect.stringMatching(answer) })
})

test('a wait ends before clients give up after a minute, unless the model asks for more', async () => {
  await using world = new McpWorld()
  const { client } = await world.connect()
  const { tools } = await client.listTools()
  const { inputSchema } = tools.find(({ name }) => name === 'wait_until_free') ?? {}
  expect(inputSchema).toMatchObject({ properties: { wait_seconds: { description: 'Default: 45.' } } })
})

const long = 'x/'.repeat(4_000_000)

test.each([
  ['workspace', 'who', { workspace: long }],
  ['workspace of a search', 'search_sessions', { text: 'x', workspace: long }],
  ['resource', 'who', { resource: long }],
  ['path', 'claim', { paths: [long] }],
  ['path outside the workspace', 'claim', { paths: [`/${long}`] }],
  ['pattern', 'claim', { paths: [`${long}*`] }],
  ['session', 'claim', { session: long }],
  ['name of an argument', 'claim', { [long]: 1 }],
  ['type', 'claim', { wait_seconds: long }],
])('an invalid %s of 8 MB is answered with a short error, and the server goes on', async (_, tool, args) => {
  await using world = new McpWorld()
  await world.prompt('session-a', 'new routes')
  const { call } = await world.connect()
  const refused = await call(tool, args)
  expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/^.{10,5000}$/s) as string })
  expect((await call('claim')).data).toMatchObject({ granted: true })
})

test('a line over 10 MB is answered with an error, in bounded memory, and the server goes on', async () => {
  await using world = new McpWorld()
  const server = world.start(process.execPath, [stintBin, 'mcp'], {
    cwd: world.workspace,
    stdio: 'pipe',
  })
  const { stdin } = server.child
  const write = (text: string): Promise<unknown> =>
    new Promise((resolve) => stdin?.write(text, resolve) ?? resolve(undefined))
  const megabyte = 'x'.repeat(1 << 20)
  for (const size of [11, 300]) {
    await write('{"jsonrpc":"2.0","id":1,"method":"')
    for (let sent = 0; sent < size; sent++) await write(megabyte)
    await write('"}\n')
  }
  // A whole message, and blanks.
  await write(`${JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'ping' })}${' '.repeat(11 << 20)}\n`)
  await write(`${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' })}\n`)
  await until('the server answers', () => server.output().stdout.includes('"id":2'))
  const answers = server
    .output()
    .stdout.trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  const refusal = { id: null, error: { code: -32_600, message: expect.stringContaining('10485760 bytes') } }
  expect(answers.filter((answer) => 'error' in answer)).toMatchObject([refusal, refusal, refusal])
  expect(answers.at(-1)).toMatchObject({ id: 2 })
  const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8')
  expect(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1])).toBeLessThan(250_000)
  stdin?.end()
  expect((await server.finished).code).toBe(0)
})

test('a server whose client disappears, or sends garbage, ends, and its claims end with it', async () => {
  await using world = new McpWorld()
  const server = world.start(process.execPath, [stintBin, 'mcp'], { cwd: world.workspace, stdio: 'pipe' })
  const send = (message: object | string): unknown =>
    server.child.stdin?.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
  const clientInfo = { name: 'raw', version: '1' }
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
  send('garbage {')
  send('')
  send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })
  await until('the server answers', () => server.output().stdout.includes('"id":1'))
  send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  send('[[[')
  send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'claim', arguments: {} } })
  await until('the server claims', () => world.claims.length === 1)
  server.child.stdin?.end()
  const { code, stdout, stderr } = await server.finished
  expect([code, stderr]).toEqual([0, ''])
  expect(
    stdout
      .trim()
      .split('\n')
      .every((line) => JSON.parse(line).jsonrpc === '2.0'),
  ).toBe(true)
  expect(world.claims).toEqual([])
})

test('the claims of a killed server are free', async () => {
  await using world = new McpWorld()
  const { call, pid } = await world.connect()
  await call('claim')
  process.kill(pid, 'SIGKILL')
  const other = await world.connect()
  expect((await other.call('claim', { wait_seconds: 60 })).data).toMatchObject({ granted: true })
})

test('a model finds the events of earlier sessions', async () => {
  await using world = new McpWorld()
  await world.stint(['run', '--record', '--', 'echo', 'the needle'], { cwd: world.workspace })
  const { call } = await world.connect()
  const found = await call('search_sessions', { text: 'needle', workspace: world.workspace })
  expect(found.data).toMatchObject({ found: [{ excerpt: expect.stringContaining('needle') }] })
  expect(await call('search_sessions', { text: 'no such text' })).toMatchObject({ text: 'nothing found' })
})
