import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HookUser } from '../../../test/support/hook-user.ts'

test('status lists the hooks with their options, and the agents without hooks', async () => {
  await using world = new HookUser()
  mkdirSync(join(world.user, '.gemini'))
  await world.change(
    'install',
    'claude',
    '--scope',
    'paths',
    '--hold',
    'session',
    '--wait',
    '0',
    '--fail-closed',
    '--record',
    '--no-undo',
  )
  await world.change('install', 'copilot', '--project')
  const status = await world.hook(['status'])
  expect(status.envelope().data).toMatchObject({
    hooks: [
      {
        agent: 'claude',
        place: 'user',
        state: 'installed',
        choices: {
          scope: 'paths',
          hold: 'session',
          waitMs: 0,
          failClosed: true,
          record: true,
          undo: false,
        },
      },
      { agent: 'copilot', place: 'project', state: 'installed', program: ['stint-hook'] },
    ],
    without: ['gemini'],
  })
})

test('status tells absent, incomplete, edited and unreadable hooks apart', async () => {
  await using world = new HookUser()
  const state = async (): Promise<unknown> => {
    const { hooks } = (await world.hook(['status', 'claude'])).envelope().data as {
      hooks: { state: string }[]
    }
    return hooks[0]?.state
  }
  const path = world.file('claude')
  await world.change('install', 'claude')
  const whole = world.read(path)
  writeFileSync(path, whole.replace('"Stop"', '"Other"'))
  expect(await state()).toBe('incomplete')
  writeFileSync(path, whole.replaceAll('"command": "', '"command": "nice '))
  expect(await state()).toBe('edited')
  writeFileSync(path, '{}')
  expect(await state()).toBeUndefined()
  writeFileSync(path, '{"stint-hook')
  expect(await state()).toBe('unreadable')
  rmSync(path)
  expect(await state()).toBeUndefined()
})

test('in the home directory, user and project settings are one file, which is listed once', async () => {
  await using world = new HookUser()
  await world.change('install', 'claude', '--user')
  const cwd = world.user
  const listed = async (...args: string[]): Promise<unknown[]> => {
    const { data } = (await world.stint([...args, '--json'], { cwd })).envelope()
    return (data as { hooks: { agent: string; place: string }[] }).hooks.map(({ agent, place }) => [
      agent,
      place,
    ])
  }
  expect(await listed('hook', 'status')).toEqual([['claude', 'user']])
  expect(await listed('status')).toEqual([['claude', 'user']])
  // The home directory behind a link.
  symlinkSync(world.user, join(world.tmp, 'link'))
  world.env.HOME = join(world.tmp, 'link')
  expect(await listed('hook', 'status')).toEqual([['claude', 'user']])
  expect(await listed('hook', 'status', '--project')).toEqual([['claude', 'project']])
})
