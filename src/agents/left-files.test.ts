import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { until, World } from '../../test/support/world.ts'
import type { Liveness } from '../base/process/liveness.ts'
import { findLeftFiles, removeLeftFiles } from './left-files.ts'
import { LivingSessions } from './living-sessions.ts'

let world: World
let temp: string
let projects: string
beforeEach(() => {
  world = new World()
  temp = join(world.tmp, `claude-${process.geteuid?.()}`, '-project')
  projects = join(world.tmp, 'config/projects/-project')
  for (const path of [temp, projects]) mkdirSync(path, { recursive: true })
  vi.stubEnv('CLAUDE_CONFIG_DIR', join(world.tmp, 'config'))
  vi.stubEnv('TMPDIR', world.tmp)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

/** Sessions that are as the test says; the machine may have agents of its own. */
class KnownSessions extends LivingSessions {
  readonly alive = new Set<string>()
  override lifeOf(_agent: string, sessionId: string): Liveness {
    return this.alive.has(sessionId) ? 'alive' : 'dead'
  }
}

const files = (living = new KnownSessions()) =>
  findLeftFiles(living, 1000).filter(({ path }) => path.startsWith(world.tmp))

function plantOutput(): { session: string; path: string; output: string } {
  const session = randomUUID()
  const path = join(temp, session)
  mkdirSync(join(path, 'tasks'), { recursive: true })
  writeFileSync(join(path, 'tasks/b1.output'), 'x'.repeat(10_000))
  return { session, path, output: join(path, 'tasks/b1.output') }
}

test('the output of a dead session is left over, that of a living one is not', () => {
  const [dead, alive] = [plantOutput(), plantOutput()]
  mkdirSync(join(temp, 'not-a-session'))
  const living = new KnownSessions()
  living.alive.add(alive.session)
  const found = files(living)
  expect(found).toEqual([
    { kind: 'temp', agent: 'claude', session_id: dead.session, path: dead.path, bytes: expect.any(Number) },
  ])
  expect(found[0]?.bytes).toBeGreaterThanOrEqual(10_000)
  expect(removeLeftFiles(found)).toEqual([])
  expect([existsSync(dead.path), existsSync(alive.path)]).toEqual([false, true])
})

test('a directory that a process works in, or has a file open in, stays', async () => {
  const [inside, opened] = [plantOutput(), plantOutput()]
  const running = world.start('sh', ['-c', 'echo up; exec sleep 1000'], { cwd: inside.path })
  await until('it works there', () => running.output().stdout === 'up\n')
  const fd = openSync(opened.output, 'a')
  try {
    expect(files()).toEqual([])
  } finally {
    closeSync(fd)
  }
  expect(files().map(({ path }) => path)).toEqual([opened.path])
})

test('an unpacked library that no process has loaded is left over', () => {
  const library = join(world.tmp, '.0123456789abcdef-00000001.so')
  writeFileSync(library, 'ELF')
  writeFileSync(join(world.tmp, '.0123456789abcdef-1.so'), 'another name')
  const found = files()
  expect(found.map(({ kind, agent, path }) => [kind, agent, path])).toEqual([
    ['library', 'opencode', library],
  ])
  expect(removeLeftFiles(found)).toEqual([])
  expect(existsSync(library)).toBe(false)
  expect(removeLeftFiles(found)).toEqual([])
})

test('an agent that has ended since it was seen hides nothing', async () => {
  const program = join(world.tmp, 'claude.js')
  writeFileSync(program, "console.log('up'); setInterval(() => {}, 1000)")
  const agent = world.start(process.execPath, [program])
  await until('the agent runs', () => agent.output().stdout === 'up\n')
  const living = new KnownSessions()
  process.kill(agent.pid)
  await agent.finished
  writeFileSync(join(world.tmp, '.0123456789abcdef-00000001.so'), 'ELF')
  expect(files(living)).toHaveLength(1)
})
