import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureHome } from '../../base/fs/home.ts'
import { World } from '../../../test/support/world.ts'
import { filesystemStore } from './medium.ts'

const together = [
  { type: 'a', data: { text: ',"continued":true' } },
  { type: 'b', data: [true] },
  { type: 'c', data: 'x'.repeat(40) },
]

/** A journal that ends with events that were appended together, and the size it had before them. */
async function journal(world: World): Promise<{ id: string; path: string; bytes: Buffer; before: number }> {
  const store = filesystemStore({ home: join(world.tmp, 'home') })
  const session = await store.create()
  await session.append({ type: 'first' })
  // The next group begins with a checkpoint of the audit log, behind the mark of its first line.
  await session.audit({ action: 'approve' })
  const path = join(world.tmp, 'home/sessions', session.id, 'journal.log')
  const before = readFileSync(path, 'utf8').trimEnd().length + 1
  await session.append(together)
  const bytes = Buffer.from(`${readFileSync(path, 'utf8').trimEnd()}\n`)
  // The files as they are when the process dies.
  const torn = join(world.tmp, 'torn/sessions', session.id)
  ensureHome(join(world.tmp, 'torn'))
  cpSync(dirname(path), torn, { recursive: true, verbatimSymlinks: true })
  rmSync(join(torn, 'lock'), { recursive: true })
  await session.close()
  return { id: session.id, path: join(torn, 'journal.log'), bytes, before }
}

test('events that were appended together are all read, or none, wherever the journal was torn', async () => {
  await using world = new World()
  const { id, path, bytes, before } = await journal(world)
  const store = filesystemStore({ home: join(world.tmp, 'torn') })
  const all = ['first', 'a', 'b', 'c']
  for (let end = before; end <= bytes.length; end += 1) {
    const expected = end === bytes.length ? all : ['first']
    // What a writer fills its file ahead with follows the torn write.
    writeFileSync(path, Buffer.concat([bytes.subarray(0, end), Buffer.from('\n\n\n')]))
    const read = await store.inspect(id)
    const events = []
    for await (const { type } of read.events()) events.push(type)
    const some = []
    for await (const { type } of read.events({ from: 2, to: 3 })) some.push(type)
    const tail = (await read.tail(9)).map(({ type }) => type)
    // One byte short of the end, only the newline is missing, and the filling provides it.
    if (end === bytes.length - 1) continue
    expect([end, events, some, tail, read.summary.records]).toEqual([
      end,
      expected,
      expected.slice(1, 3),
      expected,
      expected.length,
    ])
  }
})

test('a resume cuts off what was appended together and is not complete, and goes on behind the rest', async () => {
  await using world = new World()
  const { id, path, bytes, before } = await journal(world)
  const store = filesystemStore({ home: join(world.tmp, 'torn') })
  const first = bytes.indexOf('\n', before) + 1
  writeFileSync(path, bytes.subarray(0, first))
  const session = await store.resume(id)
  expect(session.report.cut).toMatchObject([{ log: 'journal', offset: before, bytes: first - before }])
  expect([session.lastSeq, session.report.replayed]).toEqual([1, 1])
  expect(readFileSync(session.report.cut[0]?.kept ?? '', 'utf8')).toContain('"type":"a"')
  expect((await session.append(together)).map(({ seq }) => seq)).toEqual([2, 3, 4])
  await session.close()
  const { health, tail } = await store.inspect(id)
  expect([(await health()).ok, (await tail(9)).length]).toEqual([true, 4])
})
