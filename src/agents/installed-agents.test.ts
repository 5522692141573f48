import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { World } from '../../test/support/world.ts'
import { findAgents } from './installed-agents.ts'

let world: World
beforeEach(() => {
  world = new World()
  for (const name of ['home', 'bin', 'project']) mkdirSync(join(world.tmp, name))
  vi.stubEnv('HOME', join(world.tmp, 'home'))
  vi.stubEnv('PATH', join(world.tmp, 'bin'))
  for (const name of ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'QWEN_HOME', 'COPILOT_HOME', 'XDG_CONFIG_HOME'])
    vi.stubEnv(name, undefined)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

/** A program that fails the test if it is started. */
function plantProgram(path: string): string {
  mkdirSync(dirname(join(world.tmp, path)), { recursive: true })
  writeFileSync(join(world.tmp, path), `#!/bin/sh\ntouch ${join(world.tmp, 'started')}\n`)
  chmodSync(join(world.tmp, path), 0o755)
  return join(world.tmp, path)
}

function plantPackage(directory: string, name: string, version: string, bin: string): string {
  const program = plantProgram(join(directory, bin))
  writeFileSync(join(world.tmp, directory, 'package.json'), JSON.stringify({ name, version }))
  return program
}

const link = (from: string, to: string): void => {
  mkdirSync(dirname(join(world.tmp, from)), { recursive: true })
  symlinkSync(to, join(world.tmp, from))
}
const agents = () => findAgents(join(world.tmp, 'project')).map(({ agent, version }) => [agent, version])

test('without agents there is nothing to find', () => {
  expect(agents()).toEqual([])
})

test('the version of an npm package comes from its package.json, wherever npm keeps it', () => {
  const claude = plantPackage(
    'lib/node_modules/@anthropic-ai/claude-code',
    '@anthropic-ai/claude-code',
    '2.1.325',
    'bin/claude.exe',
  )
  link('bin/claude', claude)
  const local = 'project/node_modules'
  writeFileSync(join(world.tmp, 'project/package.json'), '{"version":"9.9.9"}')
  const codex = plantPackage(`${local}/@openai/codex`, '@openai/codex', '0.166.0', 'bin/codex.js')
  link(`${local}/.bin/codex`, codex)
  expect(agents()).toEqual([
    ['claude', '2.1.325'],
    ['codex', '0.166.0'],
  ])
})

test('a native installation has its version in the path behind its link, on PATH or not', () => {
  const claude = plantProgram('home/.local/share/claude/versions/2.1.301')
  link('home/.local/bin/claude', claude)
  link('bin/codex', plantProgram('Cellar/codex/0.140.0/bin/codex'))
  link('bin/cursor-agent', plantProgram('share/cursor-agent/versions/2026.09.18-7ae6800/cursor-agent'))
  expect(agents()).toEqual([
    ['claude', '2.1.301'],
    ['codex', '0.140.0'],
    ['cursor', '2026.09.18-7ae6800'],
  ])
})

test('an agent of which only the directory is known has no version', () => {
  mkdirSync(join(world.tmp, 'home/.gemini'))
  plantProgram('bin/opencode')
  expect(agents()).toEqual([
    ['gemini', null],
    ['opencode', null],
  ])
})

test('no agent is started', async () => {
  plantProgram('bin/claude')
  plantProgram('bin/codex')
  expect(agents()).toHaveLength(2)
  const { stdout } = await world.start('ls', [world.tmp], { env: { PATH: process.env.SYSTEM_PATH } }).finished
  expect(stdout).not.toContain('started')
})
