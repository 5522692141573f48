import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { until, World } from '../../test/support/world.ts'
import { readProcessTable } from '../base/process/process-table.ts'
import { findWorktrees } from './worktrees.ts'

let world: World
let repository: string
beforeEach(async () => {
  world = new World()
  repository = join(world.tmp, 'repository')
  for (const name of ['home/.codex', 'repository']) mkdirSync(join(world.tmp, name), { recursive: true })
  vi.stubEnv('HOME', join(world.tmp, 'home'))
  for (const name of ['CLAUDE_CONFIG_DIR', 'CODEX_HOME']) vi.stubEnv(name, undefined)
  await git('init', '-q', '-b', 'main')
  await git('commit', '-q', '--allow-empty', '-m', 'first')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

async function git(...args: string[]): Promise<void> {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org']
  const { code, stderr } = await world.start('git', [...identity, ...args], { cwd: repository }).finished
  if (code !== 0) throw new Error(stderr)
}

const addWorktree = async (path: string, ...how: string[]): Promise<string> => {
  await git('worktree', 'add', '-q', ...how, join(world.tmp, path))
  return join(world.tmp, path)
}

const states = async (held: string[] = [], withinMs = 30_000) => {
  const table = readProcessTable()
  const worktrees = await findWorktrees(table, { workspaces: [repository], held }, withinMs)
  return Object.fromEntries(worktrees.map(({ agent, path, state }) => [path, `${agent} ${state}`]))
}

test('worktrees of agents are alive, changed or clean', async () => {
  const clean = await addWorktree('repository/.claude/worktrees/clean', '-b', 'worktree-clean')
  const dirty = await addWorktree('repository/.claude/worktrees/dirty', '-b', 'worktree-dirty')
  writeFileSync(join(dirty, 'new.txt'), 'not committed')
  const detached = await addWorktree('home/.codex/worktrees/3f/repository', '--detach')
  const alive = await addWorktree('repository.worktrees/alive', '-b', 'alive')
  const running = world.start('sh', ['-c', 'echo up; exec sleep 1000'], { cwd: alive })
  await until('it works there', () => running.output().stdout === 'up\n')
  await addWorktree('elsewhere', '-b', 'mine')
  expect(await states()).toEqual({
    [clean]: 'claude clean',
    [dirty]: 'claude changed',
    [detached]: 'codex clean',
    [alive]: 'copilot alive',
  })
  expect(await states([join(clean, 'src')])).toMatchObject({ [clean]: 'claude alive' })
})

test('a commit that is on no branch counts as a change', async () => {
  const detached = await addWorktree('home/.codex/worktrees/3f/repository', '--detach')
  await git('-C', detached, 'commit', '-q', '--allow-empty', '-m', 'only here')
  expect(await states()).toEqual({ [detached]: 'codex changed' })
})

test("worktrees are found in all of Claude Code's projects", async () => {
  const worktree = await addWorktree('repository/.claude/worktrees/a', '-b', 'a')
  writeFileSync(join(world.tmp, 'home/.claude.json'), JSON.stringify({ projects: { [repository]: {} } }))
  const found = await findWorktrees(readProcessTable(), { workspaces: [], held: [] }, 30_000)
  expect(found.map(({ path }) => path)).toEqual([worktree])
})

test('looking changes no index, and without time the state is not known', async () => {
  const worktree = await addWorktree('repository/.claude/worktrees/a', '-b', 'a')
  const index = join(repository, '.git/worktrees/a/index')
  const before = [readFileSync(index, 'base64'), statSync(index).mtimeMs]
  writeFileSync(join(worktree, 'x'), '')
  await states()
  expect([readFileSync(index, 'base64'), statSync(index).mtimeMs]).toEqual(before)
  expect(await states([], 0)).toEqual({ [worktree]: 'claude unknown' })
})
