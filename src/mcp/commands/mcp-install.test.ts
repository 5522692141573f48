import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { type ChangeRow, contentOf, HookUser } from '../../../test/support/hook-user.ts'
import { stintBin } from '../../../test/support/world.ts'
import type { Finished } from '../../../test/support/world.ts'

const files = {
  claude: ['.claude.json', '.mcp.json'],
  codex: ['.codex/config.toml', '.codex/config.toml'],
  gemini: ['.gemini/settings.json', '.gemini/settings.json'],
} as const
const agents = ['claude', 'codex', 'gemini'] as const
type Agent = (typeof agents)[number]

/** A user whose agents start, or do not start, the server. */
class McpUser extends HookUser {
  server(agent: Agent, place: 'user' | 'project' = 'user'): string {
    return place === 'user' ? join(this.user, files[agent][0]) : join(this.project, files[agent][1])
  }

  mcp(...args: string[]): Promise<Finished> {
    return this.stint(['mcp', ...args, '--json'], { cwd: this.project })
  }

  async changes(...args: string[]): Promise<ChangeRow[]> {
    const finished = await this.mcp(...args)
    if (finished.code !== 0 || finished.stderr !== '') throw new Error(`${finished.stdout}${finished.stderr}`)
    return (finished.envelope().data as { servers: ChangeRow[] }).servers
  }

  /** How the agent starts the server, by its settings. */
  entry(agent: Agent, place: 'user' | 'project' = 'user'): { command: string; args: string[] } {
    const text = this.read(this.server(agent, place))
    const settings = (agent === 'codex' ? parse(text) : JSON.parse(text)) as Record<
      string,
      { stint: { command: string; args: string[] } }
    >
    return (settings.mcpServers ?? settings.mcp_servers)?.stint ?? { command: '', args: [] }
  }

  plant(path: string, content: string): void {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
}

test.each(agents)('%s: the server that its settings start answers a client', async (agent) => {
  await using world = new McpUser()
  mkdirSync(dirname(world.server(agent)), { recursive: true })
  const before = contentOf(world.user)
  expect(await world.changes('install', agent)).toMatchObject([
    { agent, place: 'user', outcome: 'installed' },
  ])
  expect(statSync(world.server(agent)).mode & 0o777).toBe(0o600)
  const { command, args } = world.entry(agent)
  const client = new Client({ name: 'test', version: '1' })
  const env = world.env as Record<string, string>
  await client.connect(new StdioClientTransport({ command, args, cwd: world.project, env }))
  expect((await client.callTool({ name: 'who', arguments: {} })).isError).not.toBe(true)
  await client.close()
  expect(await world.changes('install', agent)).toMatchObject([{ outcome: 'unchanged' }])
  expect(await world.changes('uninstall')).toMatchObject([{ agent, outcome: 'removed' }])
  expect(contentOf(world.user)).toEqual(before)
})

test.each<[Agent, content: string]>([
  [
    'claude',
    '{\n  "numStartups": 3,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}\n',
  ],
  ['codex', '# mine\r\nmodel = "best"\r\n\r\n[mcp_servers.other]\r\ncommand = "x"\r\n'],
  ['gemini', '{\n\t// mine\n\t"theme": "dark",\n}\n'],
])('%s: uninstall leaves the file %j as it was', async (agent, content) => {
  await using world = new McpUser()
  const path = world.server(agent)
  world.plant(path, content)
  const before = contentOf(world.user)
  expect(await world.changes('install', agent)).toMatchObject([{ outcome: 'installed' }])
  await world.changes('uninstall')
  expect(contentOf(world.user)).toEqual(before)
  await world.changes('install', agent)
  // Another program adds a line: it stays.
  const comment = agent === 'codex' ? '# later' : '// later'
  writeFileSync(path, `${world.read(path)}${comment}`)
  expect(await world.changes('uninstall')).toMatchObject([{ outcome: 'removed' }])
  const left = world.read(path)
  expect(left.endsWith(comment)).toBe(true)
  expect(left).not.toContain('stint')
})

test('hooks and the server in one file: each goes alone, and after both the file is as it was', async () => {
  await using world = new McpUser()
  const path = world.server('gemini')
  mkdirSync(dirname(path))
  const other = (part: string): string => (part === 'hook' ? 'mcp' : 'hook')
  for (const [content, first, firstOut] of [
    ['{\n  // mine\n  "theme": "dark"\n}\n', 'hook', 'hook'],
    ['{"theme":"dark"}', 'mcp', 'hook'],
    [undefined, 'hook', 'mcp'],
    [undefined, 'hook', 'hook'],
  ] as const) {
    rmSync(path, { force: true })
    if (content !== undefined) world.plant(path, content)
    const before = contentOf(world.user)
    for (const part of [first, other(first)]) await world.stint([part, 'install', 'gemini'])
    expect(world.read(path)).toContain('mcpServers')
    expect(world.read(path)).toContain('BeforeTool')
    await world.stint([firstOut, 'uninstall', 'gemini'])
    expect(world.read(path).includes('mcpServers')).toBe(firstOut === 'hook')
    expect(world.read(path).includes('BeforeTool')).toBe(firstOut === 'mcp')
    await world.stint([other(firstOut), 'uninstall', 'gemini'])
    expect([content, first, firstOut, contentOf(world.user)]).toEqual([content, first, firstOut, before])
  }
})

test("--project: a project's files start stint by its name; the user's own stay as they are", async () => {
  await using world = new McpUser()
  const finished = await world.mcp('install', ...agents, '--project')
  expect(finished.envelope().warnings).toEqual([expect.stringContaining('stint is not on PATH')])
  for (const agent of agents) {
    expect(world.entry(agent, 'project')).toMatchObject({ command: 'stint', args: ['mcp'] })
    expect(statSync(world.server(agent, 'project')).mode & 0o777).toBe(0o644)
  }
  expect(contentOf(world.user)).toEqual({})
  await world.changes('uninstall')
  for (const agent of agents) expect(existsSync(world.server(agent, 'project'))).toBe(false)
})

test('--dry-run shows the change, and changes nothing', async () => {
  await using world = new McpUser()
  world.plant(world.server('codex'), 'model = "best"\n')
  const before = contentOf(world.tmp)
  const [{ diff = '' } = {}] = await world.changes('install', 'codex', '--dry-run')
  expect(diff).toContain('+[mcp_servers.stint]')
  expect(contentOf(world.tmp)).toEqual(before)
})

test('without a name: every agent that the user has; a broken file of one does not stop the others', async () => {
  await using world = new McpUser()
  expect((await world.mcp('install')).envelope().error?.code).toBe('NOT_FOUND')
  mkdirSync(join(world.user, '.claude'))
  world.plant(world.server('codex'), 'not TOML')
  const { code, ...finished } = await world.mcp('install')
  expect(code).toBe(3)
  expect(finished.envelope().data).toMatchObject({
    servers: [{ agent: 'claude', outcome: 'installed' }],
    failures: [{ agent: 'codex', code: 'SETTINGS_INVALID' }],
  })
  expect(world.read(world.server('codex'))).toBe('not TOML')
  expect((await world.hook(['status'])).envelope().data).toMatchObject({
    servers: [{ agent: 'claude', place: 'user', path: world.server('claude'), state: 'installed' }],
  })
})

test('hook status and the doctor tell a server of another program, and one whose program is missing', async () => {
  await using world = new McpUser()
  await world.changes('install', ...agents)
  writeFileSync(world.server('claude'), '{"numStartups": 4}')
  const text = world.read(world.server('codex')).replace(stintBin, '/nowhere/stint.cjs')
  writeFileSync(world.server('codex'), text)
  writeFileSync(world.server('gemini'), '{"mcpServers": {"stint": {"command": "npx", "args": ["x"]}}}')
  const { data } = (await world.hook(['status'])).envelope()
  const states = (data as { servers: { state: string }[] }).servers.map(({ state }) => state)
  expect(states).toEqual(['broken', 'foreign'])
  const shown = (await world.onTerminal('hook status')).replaceAll(/\s+/g, ' ')
  expect(shown).toContain('it starts /nowhere/stint.cjs, which does not exist; stint mcp install codex')
  const { code, stdout } = await world.stint(['doctor', '--json'], { cwd: world.project })
  expect(code).toBe(4)
  expect(stdout).toContain('its MCP server named stint is not one that stint installed')
  expect((await world.hook(['status', 'cursor'])).envelope().data).toMatchObject({ servers: [] })
  expect((await world.mcp('install', 'gemini')).envelope().error?.code).toBe('NAME_TAKEN')
  expect(await world.changes('install', 'codex')).toMatchObject([{ outcome: 'updated' }])
  expect(world.entry('codex').args[0]).toBe(stintBin)
})

test('CLAUDE_CONFIG_DIR and CODEX_HOME move the files of their agents', async () => {
  await using world = new McpUser()
  world.env.CLAUDE_CONFIG_DIR = join(world.tmp, 'elsewhere')
  world.env.CODEX_HOME = join(world.tmp, 'codex')
  await world.changes('install', 'claude', 'codex')
  expect(existsSync(join(world.tmp, 'elsewhere/.claude.json'))).toBe(true)
  expect(readFileSync(join(world.tmp, 'codex/config.toml'), 'utf8')).toContain('env_vars')
  expect(contentOf(world.user)).toEqual({})
})

test('mistakes are refused with what to do; agents are completed', async () => {
  await using world = new McpUser()
  const unknown = (await world.mcp('install', 'cluade')).envelope().error
  expect(unknown).toMatchObject({ code: 'ARG_ERROR', suggestion: expect.stringContaining('claude') })
  const other = (await world.mcp('install', 'zed')).envelope().error
  expect(other).toMatchObject({ code: 'ARG_ERROR', suggestion: expect.stringContaining('docs/mcp.md') })
  expect((await world.mcp('install', '--user', '--project')).envelope().error?.code).toBe('ARG_ERROR')
  const { stdout } = await world.stint(['completion', '--for', '--', 'mcp', 'install', 'co'])
  expect(stdout).toBe('codex\tCodex\n')
})
