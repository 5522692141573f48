import { expect, test } from 'vitest'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { acquireLease, memoryStore } from '../index.ts'

test('a resource is claimed like a workspace, from any directory, and apart from every workspace', async () => {
  await using world = new LockWorld()
  const on = ['--resource', 'deploy:prod']
  const first = await world.lock(['acquire', '--session', 'a', ...on])
  expect(dataOf(first)).toMatchObject({ acquired: true, resource: 'deploy:prod' })
  expect(dataOf(first)).not.toHaveProperty('workspace')
  const refused = await world.lock(['acquire', '--session', 'b', ...on], world.tmp)
  expect(errorOf(refused)).toMatchObject({
    code: 'LOCK_HELD',
    message: expect.stringContaining('deploy:prod is held by a') as string,
  })
  expect((await world.lock(['acquire', '--session', 'b'])).code).toBe(0)
  expect((await world.lock(['acquire', '--session', 'b', '--resource', 'deploy:test'])).code).toBe(0)
  const { workspaces } = dataOf(await world.lock(['status', '--all'])) as { workspaces: object[] }
  expect(workspaces).toHaveLength(3)
  expect(workspaces).toContainEqual(expect.objectContaining({ resource: 'deploy:prod' }))
  expect(workspaces).toContainEqual(expect.objectContaining({ workspace: world.workspace }))
  expect((await world.stint(['lock', 'status', '--all'], { cwd: world.tmp })).code).toBe(0)
  expect(dataOf(await world.lock(['release', '--session', 'a', ...on], '/'))).toMatchObject({
    released: true,
  })
})

test('run --lock --resource runs one program at a time, and sets no STINT_WORKSPACE', async () => {
  await using world = new LockWorld()
  const flags = ['run', '--lock', '--resource', 'deploy:prod', '--session', 'a']
  const { stdout } = await world.stint([...flags, '--', 'sh', '-c', 'echo "$STINT_FENCE-$STINT_WORKSPACE"'])
  expect(stdout).toMatch(/^[1-9]\d*-\n$/)
  await world.lock(['acquire', '--session', 'b', '--resource', 'deploy:prod'])
  const refused = await world.stint([...flags, '--json', '--', 'true'])
  expect(errorOf(refused)?.code).toBe('LOCK_HELD')
})

test.each([
  [['--resource', '']],
  [['--resource', '../x']],
  [['--resource', '/etc']],
  [['--resource', 'a b']],
  [['--resource', 'a\nb']],
  [['--resource', 'x'.repeat(201)]],
  [['--resource', 'x', '--workspace', '.']],
  [['--resource', 'x', '--path', 'src']],
  [['--store', 'mysql://user:secret@host/db']],
])('lock acquire %j exits with 2, and nothing is claimed', async (flags) => {
  await using world = new LockWorld()
  const result = await world.lock(['acquire', '--session', 'a', ...flags])
  expect([result.code, errorOf(result)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(result.stdout + result.stderr).not.toContain('secret')
  expect(dataOf(await world.lock(['status', '--all']))).toMatchObject({ workspaces: [] })
})

test('acquireLease claims a resource as the command does: for one session, without paths', async () => {
  const store = memoryStore()
  await using lease = await acquireLease({ store, resource: 'deploy:prod', sessionId: 'a' })
  expect(lease.workspace).toBe('deploy:prod')
  await expect(acquireLease({ store, resource: 'deploy:prod', sessionId: 'b' })).rejects.toThrow(
    'is held by a',
  )
  await expect(acquireLease({ store, resource: 'x', paths: ['src'], sessionId: 'b' })).rejects.toThrow(
    'has no paths',
  )
})

test('a refusal says what is held, since when, by whom and until when, with advice that fits', async () => {
  await using world = new LockWorld()
  const holder = world.start('sleep', ['600'])
  const refuse = async (...target: string[]): Promise<string> => {
    await world.lock(['acquire', '--session', 'a', '--pid', String(holder.pid), ...target])
    const options = { cwd: world.workspace, env: { STINT_OUTPUT: '' } }
    return (await world.stint(['lock', 'acquire', '--session', 'b', ...target], options)).stderr
  }
  const held = `for [^,]+, by pid ${holder.pid}, which is alive; it ends in (4m\\d+s|5m) unless it is renewed\\.`
  expect(await refuse('--resource', 'deploy:prod')).toMatch(
    new RegExp(
      `deploy:prod is held by a, .*\\(LOCK_HELD\\)\\n  Held: ${held} Wait for the holder, or end that session\\.\\n$`,
    ),
  )
  expect(await refuse('--path', 'src/api')).toMatch(new RegExp(`Held: src/api, ${held} .*claim other paths`))
})
