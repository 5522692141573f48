import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { projectRoot, type Running, until, World } from '../../test/support/world.ts'
import { type Identity, identify } from '../base/process/liveness.ts'
import { ticksNow } from '../base/process/process-table.ts'
import type { Claim } from './claim.ts'
import { commandText, isTurnOver, sessionWork } from './evidence.ts'
import type { SessionProcess } from './force.ts'

let world: World
let workspace: string
beforeEach(() => {
  world = new World()
  workspace = join(world.tmp, 'workspace')
  mkdirSync(workspace)
})
afterEach(() => world[Symbol.asyncDispose]())

const variable = 'CLAUDE_CODE_SESSION_ID=one'

/** An agent that starts each command it reads from stdin as a process of its own. */
const agentScript = `
  const { spawn } = require('node:child_process')
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { words: [program, ...args], env, cwd } = JSON.parse(line)
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: 'ignore', detached: true })
    console.log(child.pid)
  })`

class Agent {
  readonly process: Running
  readonly identity: Identity
  #started = 0

  constructor() {
    this.process = world.start(process.execPath, ['-e', agentScript], {
      cwd: workspace,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const identity = identify(this.process.pid)
    if (identity === undefined) throw new Error('the agent has ended')
    this.identity = identity
  }

  /** Starts a command; returns the pid of its process. */
  async run(words: readonly string[], { env = {}, cwd = workspace } = {}): Promise<number> {
    const index = this.#started++
    this.process.child.stdin?.write(`${JSON.stringify({ words, env, cwd })}\n`)
    const pids = (): string[] => this.process.output().stdout.split('\n').slice(0, -1)
    await until('the command has started', () => pids().length > index)
    const pid = Number(pids()[index])
    pidsToEnd.push(pid)
    return pid
  }
}

const pidsToEnd: number[] = []
afterEach(() => {
  for (const pid of pidsToEnd.splice(0))
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
})

const claimOf = (agent: Agent, more: Partial<Claim> = {}): Claim => ({
  session_id: 'one',
  holders: [agent.identity],
  paths: ['**'],
  mode: 'exclusive',
  fence: 1,
  first_fence: 1,
  acquired_at: Date.now(),
  ticks: ticksNow(),
  clock: 'boot',
  until: 0,
  until_wall: 0,
  origin: { variable },
  ...more,
})

const workOf = (claim: Claim): readonly SessionProcess[] => sessionWork(claim, workspace)
const pidsOf = (claim: Claim): number[] => workOf(claim).map(({ pid }) => pid)

const marked = { env: { CLAUDE_CODE_SESSION_ID: 'one' } }
const sleep = ['sleep', '300']

test('the work of a session is the top process of each call, with the command that the agent was given', async () => {
  const agent = new Agent()
  const claim = claimOf(agent)
  const first = await agent.run(['bash', '-c', 'sleep 300; true'])
  const second = await agent.run(['sh', '-c', '(sleep 300; true) & wait'])
  await until('both have children', () => workOf(claim).length === 2)
  expect(workOf(claim)).toMatchObject([
    { pid: first, command: 'sleep 300; true', isSinceGrant: true, isServer: false },
    { pid: second, command: '(sleep 300; true) & wait', isSinceGrant: true, isServer: false },
  ])
})

test('a process counts in the workspace, but not elsewhere and not in a repository below', async () => {
  const agent = new Agent()
  const claim = claimOf(agent)
  const [below, nested] = [join(workspace, 'a/b'), join(workspace, 'nested/src')]
  for (const path of [below, nested, join(workspace, 'nested/.git')]) mkdirSync(path, { recursive: true })
  const inside = await agent.run(sleep, { cwd: below })
  await agent.run(sleep, { cwd: nested })
  await agent.run(sleep, { cwd: world.tmp })
  expect(pidsOf(claim)).toEqual([inside])
  const outside = claimOf(agent, { paths: [join(workspace, 'a')], ticks: 0 })
  expect(pidsOf(outside)).toEqual([inside])
})

test('a process that listens is a server, and so is the call that it belongs to', async () => {
  const agent = new Agent()
  const claim = claimOf(agent)
  const ready = join(world.tmp, 'ready')
  const listen = `require('node:net').createServer().listen(0, '127.0.0.1', () => require('node:fs').writeFileSync('${ready}', ''))`
  const server = await agent.run(['sh', '-c', `"$0" -e "$1"; true`, process.execPath, listen])
  await until('the server listens', () => workOf(claim).some(({ isServer }) => isServer))
  const work = await agent.run(sleep)
  expect(workOf(claim)).toMatchObject([
    { pid: server, isServer: true },
    { pid: work, isServer: false },
  ])
})

test('a process from before the grant counts only with the variable that agents set for commands', async () => {
  const agent = new Agent()
  await agent.run(sleep)
  const command = await agent.run(sleep, marked)
  await until('time has passed', () => (ticksNow() ?? 0) > (identify(command)?.started ?? 0))
  const claim = claimOf(agent)
  expect(workOf(claim)).toMatchObject([{ pid: command, isSinceGrant: false }])
  const [process] = workOf(claim)
  expect(process?.ageMs).toBeLessThan(60_000)
})

test('what a killed agent has left counts if it has the variable of the session', async () => {
  const agent = new Agent()
  const claim = claimOf(agent)
  const command = await agent.run(['sh', '-c', 'sleep 300; true'], marked)
  await agent.run(sleep)
  await agent.run(sleep, { env: { CLAUDE_CODE_SESSION_ID: 'two' } })
  agent.process.child.kill('SIGKILL')
  await agent.process.finished
  expect(workOf(claim)).toMatchObject([{ pid: command, command: 'sleep 300; true' }])
})

test('if the agent works for several sessions, the processes of another session do not count', async () => {
  const agent = new Agent()
  const claim = claimOf(agent, { origin: { variable, shared_process: true } })
  const own = await agent.run(sleep, marked)
  await agent.run(sleep, { env: { CLAUDE_CODE_SESSION_ID: 'two' } })
  const unknown = await agent.run(sleep)
  expect(pidsOf(claim)).toEqual([own, unknown])
})

test('hooks, helpers and the process that asks are no work', async () => {
  const agent = new Agent()
  await agent.run(['sh', '-c', 'sleep 300; true', '/opt/stint/dist/bin/stint-hook.sh', 'claude'])
  expect(pidsOf(claimOf(agent, { ticks: 0, origin: {} }))).toEqual([])
  const parent = identify(process.ppid)
  if (parent === undefined) throw new Error('no /proc')
  const below = pidsOf(claimOf(agent, { holders: [parent], ticks: 0, origin: {} }))
  expect(below).not.toContain(process.pid)
})

test('the processes of another boot or pid namespace cannot be seen', async () => {
  const agent = new Agent()
  await agent.run(sleep, marked)
  const holder = agent.identity
  expect(pidsOf(claimOf(agent, { ticks: 0, holders: [{ ...holder, boot: 'another' }] }))).toEqual([])
  expect(pidsOf(claimOf(agent, { ticks: 0, holders: [{ ...holder, pidns: '1' }] }))).toEqual([])
  expect(pidsOf(claimOf(agent, { ticks: 0, holders: [] }))).toEqual([])
})

test.each([
  [['/bin/bash', '-lc', 'npm test'], 'npm test'],
  [
    [
      '/usr/bin/bash',
      '-c',
      '-l',
      `source /home/a/snap.sh && eval 'echo '"'"'a'"'"' | tee b' < /dev/null && pwd -P >| /tmp/c`,
    ],
    `echo 'a' | tee b`,
  ],
  [['npm', 'run', 'build'], 'npm run build'],
  [['sh', '-c', 'PGPASSWORD=hunter2 psql -c "select 1"'], 'PGPASSWORD=… psql -c "select 1"'],
  [
    ['curl', '--token', 'hunter22', 'https://ada:hunter2@example.org/x'],
    'curl --token … https://…@example.org/x',
  ],
  [['mysql', '-phunter2', 'db'], 'mysql -p… db'],
  [['sh', '-c', `deploy ghp_${'a1B2'.repeat(9)}`], 'deploy <masked:github-token>'],
  [['node', 'x'.repeat(200)], `node ${'x'.repeat(55)}…`],
])('the command %j is shown as %j', (words, text) => {
  expect(commandText(`${words.join('\0')}\0`, 'name')).toBe(text)
  expect(commandText('', 'name')).toBe('name')
})

type Entries = Record<string, unknown>[]
const recorded = JSON.parse(
  readFileSync(join(projectRoot, 'test/fixtures/transcripts/claude.json'), 'utf8'),
) as Record<'esc' | 'thinking' | 'declined' | 'esc-prompt', Entries>

const linesOf = (entries: Entries): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/** A transcript that has gained these lines since the claim was renewed. */
function gained(text: string): { over: () => boolean; path: string } {
  const path = join(world.tmp, 'session.jsonl')
  writeFileSync(path, linesOf([{ type: 'user', message: { role: 'user', content: 'play alice' } }]))
  const size = readFileSync(path).length
  appendFileSync(path, text)
  const origin = { transcript: { path, size } }
  return { path, over: () => isTurnOver({ origin } as Claim) }
}

test.each(['esc', 'thinking', 'declined'] as const)(
  'a turn of Claude Code is over when its transcript says that it was interrupted: %s',
  (scene) => {
    expect(gained(linesOf(recorded[scene])).over()).toBe(true)
  },
)

test('an entry after the interruption, or none at all, shows that the turn goes on', () => {
  expect(gained(linesOf(recorded['esc-prompt'])).over()).toBe(false)
  expect(gained('').over()).toBe(false)
  const untilTheInterruption = recorded.esc.findIndex(({ message }) =>
    JSON.stringify(message)?.includes('interrupted by user'),
  )
  expect(gained(linesOf(recorded.esc.slice(0, untilTheInterruption))).over()).toBe(false)
})

test('an interruption counts when its line is whole, is all the entry says, and is of the session itself', () => {
  const said = (content: unknown, more = {}): string =>
    linesOf([{ type: 'user', message: { role: 'user', content }, ...more }])
  const text = '[Request interrupted by user]'
  expect(gained(said([{ type: 'text', text }])).over()).toBe(true)
  expect(gained(said(text)).over()).toBe(true)
  expect(gained(said(text).slice(0, -1)).over()).toBe(false)
  expect(
    gained(
      said([
        { type: 'text', text },
        { type: 'text', text: 'go on' },
      ]),
    ).over(),
  ).toBe(false)
  expect(gained(said(`${text} go on`)).over()).toBe(false)
  expect(gained(said(text, { isSidechain: true })).over()).toBe(false)
  expect(gained(said([{ type: 'tool_result', content: text }])).over()).toBe(false)
})

test('an interruption from before the last renewal proves nothing, and a missing transcript neither', () => {
  const { path } = gained(linesOf(recorded.esc))
  const transcript = { path, size: readFileSync(path).length }
  expect(isTurnOver({ origin: { transcript } } as Claim)).toBe(false)
  expect(isTurnOver({ origin: { transcript: { path: join(world.tmp, 'none'), size: 0 } } } as Claim)).toBe(
    false,
  )
  expect(isTurnOver({} as Claim)).toBe(false)
  // Opening this for reading would wait for a writer.
  const fifo = join(world.tmp, 'fifo')
  execFileSync('mkfifo', [fifo])
  expect(isTurnOver({ origin: { transcript: { path: fifo, size: 0 } } } as Claim)).toBe(false)
})

test('an interruption after a long answer is found, and a subagent that writes on keeps the turn open', () => {
  const long = linesOf([{ type: 'assistant', message: { content: 'x'.repeat(200_000) } }])
  const { path, over } = gained(long + linesOf(recorded.esc))
  expect(over()).toBe(true)
  const subagents = join(world.tmp, 'session/subagents')
  mkdirSync(subagents, { recursive: true })
  writeFileSync(join(subagents, 'agent-a.jsonl'), '')
  utimesSync(join(subagents, 'agent-a.jsonl'), 1, 1)
  expect(over()).toBe(true)
  utimesSync(path, 1, 1)
  utimesSync(join(subagents, 'agent-a.jsonl'), 2, 2)
  expect(over()).toBe(false)
})
