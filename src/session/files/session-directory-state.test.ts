import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { fileNameOf } from './session-directory.ts'

test('a turn writes one readable file for each slot that has changed, and the snapshot', async () => {
  await using world = new SessionWorld()
  const session = await world.store.create({ id: 'live' })
  await session.slot('@my/todo', { version: '1', initial: [''] }).set(['water the plants'])
  await session.slot('mode', { version: '2', initial: '' }).set('plan')
  expect(await session.turn()).toMatchObject({ seq: 3, snapshot: true })
  const read = (name: string): unknown => JSON.parse(readFileSync(world.path('live', name), 'utf8'))
  expect(readdirSync(world.path('live', 'state')).sort()).toEqual(['@my%2Ftodo.json', 'mode.json'])
  expect(read('state/@my%2Ftodo.json')).toMatchObject({
    slot: '@my/todo',
    version: '1',
    seq: 3,
    value: ['water the plants'],
  })
  await session.slot('mode', { version: '2', initial: '' }).set('edit')
  await session.turn()
  expect(read('state/@my%2Ftodo.json')).toMatchObject({ seq: 3 })
  expect(read('state/mode.json')).toMatchObject({ seq: 5, value: 'edit' })
  expect(read('snapshot.json')).toMatchObject({
    seq: 5,
    turns: 2,
    slots: { mode: { seq: 5 }, '@my/todo': { seq: 3 } },
  })
  await session.close()
})

test.each([
  ['is missing', (path: string) => rmSync(path)],
  ['was changed', (path: string) => writeFileSync(path, readFileSync(path, 'utf8').replace('plan', 'flan'))],
  ['is of an earlier turn', (path: string, earlier: string) => writeFileSync(path, earlier)],
])('a resume replays the journal if the file of a slot %s', async (_, change) => {
  await using world = new SessionWorld()
  const session = await world.store.create({ id: 'live' })
  const slot = session.slot('mode', { version: '1', initial: '' })
  await slot.set('draft')
  await session.turn()
  const path = world.path('live', 'state/mode.json')
  const earlier = readFileSync(path, 'utf8')
  await slot.set('plan')
  await session.close()
  change(path, earlier)
  await using again = await world.store.resume('live')
  expect(again.slot('mode', { version: '1', initial: '' }).value).toBe('plan')
  expect([again.turns, again.report.snapshot, again.report.replayed]).toEqual([1, undefined, 3])
})

test('a resume replays only what came after the last turn, also of a session that crashed', async () => {
  await using world = new SessionWorld()
  const session = await world.store.create({ id: 'live' })
  for (let n = 1; n <= 20; n++) await session.append({ type: 'note', data: n })
  await session.turn()
  await session.append({ type: 'last' })
  await world.store.unlock('live')
  await using again = await world.store.resume('live')
  expect(again.report).toMatchObject({ snapshot: 21, replayed: 1 })
  await session.close().catch(() => {})
})

test('the name of any slot is the name of a file', () => {
  expect(fileNameOf('todo')).toBe('todo')
  expect(fileNameOf('../up')).toBe('%2E.%2Fup')
  const long = ['a', 'b'].map((last) => fileNameOf(`${'/'.repeat(127)}${last}`))
  expect(new Set(long).size).toBe(2)
  for (const name of long) expect(name.length).toBeLessThanOrEqual(200)
})
