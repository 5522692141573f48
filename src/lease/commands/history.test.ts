import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, LockWorld } from '../../../test/support/lock-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { paintIf } from '../../command/context.ts'
import { lockHistoryCommand } from './history.ts'

/** A workspace that two sessions have used. */
async function usedWorld(): Promise<LockWorld> {
  const world = new LockWorld()
  const mine = '0f5e2a31-77c0-4f31-9c1e-2a6f3b0d9e55'
  await world.lock(['acquire', '--session', mine, '--purpose', 'routes for the new API and its tests'])
  await world.lock(['acquire', '--session', 'theirs', '--purpose', 'release notes'])
  await world.lock(['release', '--session', mine])
  await world.lock(['acquire', '--session', 'theirs', '--path', 'docs'])
  await world.lock(['break', '--session', 'theirs', '--reason', 'hung since noon', '--yes'])
  return world
}

/** The answer as a terminal with 80 columns shows it. */
async function history(world: LockWorld, ...args: string[]): Promise<string> {
  const data = dataOf(await world.lock(['history', ...args]))
  const screen = { columns: 80, rows: 24, paint: paintIf(false), verbose: false }
  return lockHistoryCommand.render?.(data as never, screen, { options: { utc: true } } as never) ?? ''
}

test('the history shows who held a workspace, and who was refused, in at most 80 columns', async () => {
  await using world = await usedWorld()
  const lines = (await history(world)).split('\n')
  expect(lines.map((line) => line.replace(/^\S+ \S+Z/, 'TIME').replaceAll(/ {2,}/g, ' | '))).toEqual([
    'TIME | EVENT | SESSION | DETAILS',
    'TIME | granted | 0f5e2a…0d9e55 | routes for the new API and its t…',
    'TIME | refused | theirs | by 0f5e2a31-77c…, wanted "releas…',
    expect.stringMatching(/^TIME \| released \| 0f5e2a…0d9e55 \| after \d+s, routes/),
    'TIME | granted | theirs | docs',
    expect.stringMatching(/^TIME \| broken \| theirs \| after \d+s, by \S+, docs/),
  ])
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
})

test('the history can be asked for a session, a time and a number of lines', async () => {
  await using world = await usedWorld()
  const data = async (...args: string[]) => dataOf(await world.lock(['history', ...args]))
  expect(await data('--session', '0f5e')).toMatchObject({
    workspace: world.workspace,
    workspace_key: world.key,
    activities: [{ kind: 'grant', purpose: 'routes for the new API and its tests' }, { kind: 'release' }],
    total: 2,
  })
  expect(await data('-n', '1')).toMatchObject({
    activities: [{ kind: 'break', reason: 'hung since noon' }],
    total: 5,
  })
  expect(await data('--since', '1h')).toMatchObject({ total: 5 })
  expect(await data('--since', '0s')).toMatchObject({ activities: [], total: 0 })
  expect(await history(world, '-n', '2')).toContain('3 earlier events: -n 5 shows all')
})

test('a filter that nothing matches is not taken for a workspace without a history', async () => {
  await using world = await usedWorld()
  const none = `none of the 5 events in the history of ${world.workspace} matches`
  expect(await history(world, '--session', 'zzz')).toBe(none)
  expect(await history(world, '--since', '0s')).toBe(none)
})

test('a wide terminal shows more of the details', async () => {
  await using world = await usedWorld()
  await using terminal = await Terminal.open(world)
  terminal.resize(120, 30)
  terminal.enter(`clear; stint lock history --workspace ${world.workspace}`)
  await terminal.shows(/ by 0f5e2a31-77c…, wanted "release notes"\n/)
  expect(terminal.screen()).toContain('  routes for the new API and its tests\n')
})

test('a workspace without a history says so, and a log with control characters is shown escaped', async () => {
  await using world = new LockWorld()
  expect(await history(world)).toBe(`${world.workspace} has no history`)
  await world.lock(['acquire', '--session', 'a'])
  const line = {
    session_id: 'b\u001b[2J',
    kind: 'grant',
    at: Date.now(),
    paths: [],
    purpose: 'x\u202ey\u0007',
  }
  appendFileSync(join(world.home, 'activity', `${world.key}.log`), `${JSON.stringify(line)}\n`)
  const text = await history(world)
  expect(text).toContain(String.raw`b\u001b[2J`)
  expect(/[^\n\u0020-\u007e…]/.test(text)).toBe(false)
})
