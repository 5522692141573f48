import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isRunning, type Running, until, World } from '../../test/support/world.ts'
import { readProcessStat } from '../base/process/platform.ts'
import { type ProcessTable, readProcessTable } from '../base/process/process-table.ts'
import { LivingSessions } from './living-sessions.ts'
import { endOrphans, findOrphans } from './orphaned-processes.ts'

let world: World
let claudeHome: string
beforeEach(() => {
  world = new World()
  claudeHome = join(world.tmp, 'claude')
  mkdirSync(join(claudeHome, 'sessions'), { recursive: true })
  vi.stubEnv('CLAUDE_CONFIG_DIR', claudeHome)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

/**
 * Starts a program named `claude` that notes its session as Claude Code does, runs `script` in the background
 * and then waits to be killed.
 */
async function startClaude(session: string, script: string, { isNoted = true } = {}): Promise<Running> {
  const program = join(world.tmp, 'claude.bin/claude')
  mkdirSync(join(world.tmp, 'claude.bin'), { recursive: true })
  if (!existsSync(program)) copyFileSync('/bin/sh', program)
  const call = `CLAUDE_CODE_SESSION_ID=${session} CLAUDE_PID=$$ setsid sh -c '${script}' & echo up; read line`
  const running = world.start(program, ['-c', call], {
    input: undefined,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { CLAUDE_CONFIG_DIR: claudeHome },
  })
  await until('it is up', () => running.output().stdout.includes('up'))
  const procStart = String(readProcessStat(running.pid)?.started)
  if (isNoted)
    writeFileSync(
      join(claudeHome, `sessions/${running.pid}.json`),
      JSON.stringify({ pid: running.pid, sessionId: session, procStart }),
    )
  return running
}

/** The processes of this test alone: the machine may have agents of its own. */
function ownTable(): ProcessTable {
  const table = readProcessTable()
  const isOwn = (pid: number): boolean => table.environmentOf(pid).includes(`\0STINT_TMP_ROOT=${world.tmp}\0`)
  return { ...table, processes: table.processes.filter(({ pid }) => isOwn(pid)) }
}

const orphansOf = (session: string) =>
  findOrphans(new LivingSessions(ownTable())).filter(({ session_id }) => session_id === session)

const markedPids = (session: string): number[] => {
  const table = ownTable()
  const isMarked = (pid: number): boolean =>
    table.environmentOf(pid).includes(`\0CLAUDE_CODE_SESSION_ID=${session}\0`)
  return table.processes.map(({ pid }) => pid).filter(isMarked)
}

const left = (session: string): Promise<void> => until('its processes run', () => markedPids(session).length)

async function kill(running: Running): Promise<void> {
  process.kill(running.pid, 'SIGKILL')
  await until('it is gone', () => !isRunning(running.pid))
}

test('processes that outlive their killed agent are orphans, parents first, and none before', async () => {
  const session = randomUUID()
  const agent = await startClaude(session, 'sleep 1000 & exec sleep 1001')
  await left(session)
  expect(orphansOf(session)).toEqual([])
  await kill(agent)
  await until('both are orphans', () => orphansOf(session).length === 2)
  const orphans = orphansOf(session)
  expect(orphans.map(({ command }) => command)).toEqual(['sleep 1001', 'sleep 1000'])
  expect(orphans[0]).toMatchObject({ agent: 'claude', session_id: session })
  expect(orphans[0]?.bytes).toBeGreaterThan(0)
})

test('orphans are asked to end, and killed if they do not', async () => {
  const session = randomUUID()
  const stubborn = 'trap "" TERM; echo ready > ready; while :; do sleep 1; done'
  const agent = await startClaude(session, `cd ${world.tmp}; sleep 1000 & ${stubborn}`)
  await until('both run', () => markedPids(session).length >= 2)
  await kill(agent)
  await until('both are orphans', () => orphansOf(session).length >= 2)
  const ended = await endOrphans(orphansOf(session), 500)
  expect(new Set(ended.map(({ end }) => end))).toEqual(new Set(['ended', 'killed']))
  expect(ended.filter(({ pid }) => isRunning(pid))).toEqual([])
  const [first] = ended
  // A process that is gone, or whose pid another process has, is not signalled.
  expect(
    await endOrphans(first === undefined ? [] : [{ ...first, pid: process.pid, started: 1 }], 50),
  ).toEqual([expect.objectContaining({ end: 'ended' })])
})

test('a session that goes on in another process keeps its processes', async () => {
  const session = randomUUID()
  const agent = await startClaude(session, 'exec sleep 1000')
  await left(session)
  await kill(agent)
  await until('it is an orphan', () => orphansOf(session).length === 1)
  const resumed = await startClaude(session, 'exec sleep 1001')
  expect(orphansOf(session)).toEqual([])
  await kill(resumed)
  await until('both are orphans', () => orphansOf(session).length === 2)
})

test('while an agent runs that does not say which session it has, nothing counts as an orphan', async () => {
  const session = randomUUID()
  const agent = await startClaude(session, 'exec sleep 1000')
  await left(session)
  const silent = await startClaude(randomUUID(), 'true', { isNoted: false })
  await kill(agent)
  expect(orphansOf(session)).toEqual([])
  await kill(silent)
  await until('it is an orphan', () => orphansOf(session).length === 1)
})

test('a process on a terminal is left alone, and so are those that it belongs to', async () => {
  const session = randomUUID()
  const agent = await startClaude(session, 'script -qec "sleep 1000" /dev/null </dev/null >/dev/null')
  await until('it is on its terminal', () =>
    markedPids(session).some((pid) => readProcessStat(pid)?.name === 'sleep'),
  )
  await kill(agent)
  expect(orphansOf(session)).toEqual([])
})

test('a process whose parent lives is no orphan, whatever variables it has', async () => {
  const session = randomUUID()
  world.start('sleep', ['1000'], { env: { CLAUDE_CODE_SESSION_ID: session } })
  await left(session)
  expect(orphansOf(session)).toEqual([])
})
