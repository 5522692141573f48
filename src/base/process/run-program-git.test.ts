import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { askGit } from './run-program.ts'

afterEach(() => void vi.unstubAllEnvs())

function stubEnv(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
}

test('git runs in the given directory, whichever repository the environment points to', async () => {
  await using world = new World()
  for (const name of ['one', 'two']) execFileSync('git', ['init', '-q', join(world.tmp, name)])
  const [one, two] = [join(world.tmp, 'one'), join(world.tmp, 'two')]
  stubEnv({ GIT_DIR: join(two, '.git'), GIT_WORK_TREE: two, GIT_PREFIX: 'x/' })
  expect(askGit(one, 'rev-parse', '--show-toplevel')).toEqual({ text: one })
})

test('git settings in the environment are passed on', async () => {
  await using world = new World()
  stubEnv({
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'user.name',
    GIT_CONFIG_VALUE_0: 'Somebody',
  })
  expect(askGit(world.tmp, 'config', 'user.name')).toEqual({ text: 'Somebody' })
})

test('a refusal of git has its reason, and a missing git is a coded error', async () => {
  await using world = new World()
  vi.stubEnv('GIT_CEILING_DIRECTORIES', world.tmp)
  expect(askGit(world.tmp, 'rev-parse', '--show-toplevel')).toEqual({
    refusal: expect.stringContaining('not a git repository'),
  })
  vi.stubEnv('PATH', world.tmp)
  expect(() => askGit(world.tmp, 'version')).toThrow(expect.objectContaining({ code: 'COMMAND_NOT_FOUND' }))
})
