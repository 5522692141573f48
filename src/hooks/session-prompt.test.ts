import { existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LockWorld } from '../../test/support/lock-world.ts'
import { identify, ownIdentity } from '../base/process/liveness.ts'
import { firstWords, forgetPrompt, keepPrompt, readPrompt, sweepPrompts } from './session-prompt.ts'

test('the first words of a prompt are one line of at most 60 characters', () => {
  expect(firstWords('  tidy up\n\tthe routes ')).toBe('tidy up the routes')
  expect(firstWords('a'.repeat(60))).toBe('a'.repeat(60))
  expect(firstWords(`${'word '.repeat(20)}`)).toMatch(/^(?:word ){11}word…$/)
  expect(Array.from(firstWords('👩‍💻'.repeat(100))).length).toBe(60)
})

test('a prompt is kept in a private file, replaced by the next, and removed with its session', async () => {
  await using world = new LockWorld()
  const { env } = world
  expect(readPrompt('a', env)).toBeUndefined()
  keepPrompt('a', { words: 'one', agent: ownIdentity() }, env)
  keepPrompt('a', { words: 'two', agent: ownIdentity() }, env)
  expect(readPrompt('a', env)).toBe('two')
  const path = join(world.home, 'prompts/a')
  expect([lstatSync(path).mode & 0o777, lstatSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700])
  expect(() => keepPrompt('../a', { words: 'x', agent: null }, env)).toThrow('EISDIR')
  forgetPrompt('a', env)
  forgetPrompt('a', env)
  expect(readPrompt('a', env)).toBeUndefined()
})

test('the sweep removes the prompts of dead agents, and keeps those of the living', async () => {
  await using world = new LockWorld()
  const sleeper = world.start('sleep', ['600'])
  const dead = identify(sleeper.pid) ?? null
  sleeper.child.kill('SIGKILL')
  await sleeper.finished
  keepPrompt('dead', { words: 'x', agent: dead }, world.env)
  keepPrompt('unknown', { words: 'x', agent: null }, world.env)
  keepPrompt('living', { words: 'x', agent: ownIdentity() }, world.env)
  const prompts = join(world.home, 'prompts')
  writeFileSync(join(prompts, 'garbage'), '{')
  mkdirSync(join(prompts, 'directory'))
  sweepPrompts(world.home)
  expect(readdirSync(prompts).sort()).toEqual(['directory', 'living'])
  expect(existsSync(join(world.home, 'locks'))).toBe(false)
})
