import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LockWorld } from '../../../test/support/lock-world.ts'
import { UiClient } from '../../../test/support/ui-client.ts'

/** A server of a world in which a session has changed a file. */
async function startServer(world: LockWorld): Promise<UiClient> {
  execFileSync('git', ['init', '-q', world.workspace])
  writeFileSync(join(world.workspace, 'a.txt'), 'a\n')
  const { code } = await world.stint(
    ['run', '--lock', '--session', 'first', '--', 'sh', '-c', 'echo b > a.txt; seq 5 > "n<b>\n.txt"'],
    { cwd: world.workspace },
  )
  expect(code).toBe(0)
  return await UiClient.start(world)
}

test('the server lists the change sets of all workspaces, and shows one with its diff', async () => {
  await using world = new LockWorld()
  const ui = await startServer(world)
  const { changes, older } = await ui.read('/api/changes')
  expect(changes).toMatchObject([
    { key: world.key, workspace: world.workspace, session_id: 'first', files: 2, added: 6, removed: 1 },
  ])
  expect(older).toBe(0)
  const view = await ui.read(`/api/change?key=${world.key}&id=${changes[0].id}`)
  expect(view.diffs).toMatchObject([
    { path: 'a.txt', change: 'changed', lines: ['@@ -1 +1 @@', '-a', '+b'], lines_left_out: 0 },
    { path: 'n<b>\n.txt', change: 'added', added: 5 },
  ])
  expect(await ui.read('/api/changes?key=000000000000')).toEqual({ changes: [], older: 0 })
  for (const query of ['', `key=${world.key}`, `key=../../etc&id=x`, `key=${world.key}&id=nothing`])
    expect((await ui.bySocket(`/api/change?${query}`)).status).toBeGreaterThanOrEqual(400)
})

test('an undo writes what its preview has shown, or nothing, and needs the secret of the page', async () => {
  await using world = new LockWorld()
  const ui = await startServer(world)
  const read = (): string => readFileSync(join(world.workspace, 'a.txt'), 'utf8')
  const { changes } = await ui.read('/api/changes')
  const place = { key: world.key, id: changes[0].id as string }
  const address = `/api/change/undo?${new URLSearchParams(place)}`
  const preview = await ui.read(address)
  expect(preview).toMatchObject({ conflicts: [], files: [{ path: 'a.txt', effect: 'changed back' }, {}] })
  const body = { ...place, plan: preview.plan }
  const undo = '/api/actions/undo'
  expect((await ui.asPage(undo, undefined, { method: 'POST', body })).status).toBe(401)
  expect((await ui.bySocket(undo, { ...body, plan: 'another' })).json.error.code).toBe('UNDO_STALE')
  await world.lock(['acquire', '--session', 'other'])
  expect((await ui.bySocket(undo, body)).json.error.code).toBe('LOCK_HELD')
  await world.lock(['release', '--session', 'other'])
  expect(read()).toBe('b\n')
  const secret = await ui.signIn()
  const { json } = await ui.asPage(undo, secret, { method: 'POST', body })
  expect(json).toMatchObject({ id: expect.any(String), files: [{ path: 'a.txt' }, {}] })
  expect(read()).toBe('a\n')
})
