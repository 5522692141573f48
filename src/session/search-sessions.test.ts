import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { SessionWorld } from '../../test/support/session-world.ts'
import { collect, fieldsOf } from '../testing/conformance-case.ts'

/** Makes a session whose journal has this many bytes, and a needle in some of its records. */
async function makeLarge(world: SessionWorld, id: string, bytes: number, needleAt: readonly number[]) {
  await using session = await world.store.create({ id })
  const text = 'x'.repeat(3000)
  for (let n = 1; n * 3100 < bytes; n++)
    void session.append({
      type: 'message',
      data: { n, text, ...(needleAt.includes(n) && { found: '7f3a"q' }) },
    })
  await session.append({ type: 'end' })
}

test('records are found wherever they lie in a journal, also across the borders of what is read at once', async () => {
  await using world = new SessionWorld()
  // About 340 records a chunk: the needles are in the records around each border.
  const around = [1, 336, 337, 338, 339, 340, 341, 675, 676, 677, 678, 679, 1000]
  await makeLarge(world, 'large', 3_200_000, around)
  const found = await collect(world.store.search('7f3a"q'))
  expect(found.map(({ seq }) => seq)).toEqual(around.toReversed())
  expect(found[0]).toMatchObject({ type: 'message', path: 'data.found', excerpt: '7f3a"q' })
})

test('a search that finds nothing parses no line of a journal', async () => {
  await using world = new SessionWorld()
  await makeLarge(world, 'large', 1_500_000, [5])
  const parse = vi.spyOn(JSON, 'parse')
  const parsed = () => parse.mock.calls.filter(([text]) => String(text).startsWith('{"seq":')).length
  expect(await collect(world.store.search('not in there'))).toEqual([])
  expect(parsed()).toBe(0)
  expect(await collect(world.store.search('7f3a"q'))).toHaveLength(1)
  expect(parsed()).toBe(1)
  parse.mockRestore()
})

test('a session is searched while another process writes it, filling at its end included', async () => {
  await using world = new SessionWorld()
  const holding = await world.hold('open')
  await holding.write(3)
  expect(readFileSync(world.path('open', 'journal.log'), 'utf8')).toMatch(/\n{1000}$/)
  expect(await fieldsOf(world.store.search('message'), 'seq')).toEqual([[3], [2], [1]])
})

test('a damaged, torn or superseded record is not found, and those around it are', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine' })
  for (let n = 1; n <= 5; n++) await session.append({ type: 'note', data: `word ${n}` })
  await session.close()
  const path = world.path('mine', 'journal.log')
  const lines = readFileSync(path, 'utf8').split('\n')
  writeFileSync(path, lines.map((line) => line.replace('word 2', 'word X')).join('\n'))
  appendFileSync(path, '{"seq":6,"at":1,"group":6,"epoch":1,"type":"note","data":"word to')
  // The next writer has continued after record 3: records 4 and 5 of the first segment do not count.
  writeFileSync(world.path('mine', 'journal-4-9.log'), `${lines[3]}\n`, { mode: 0o600 })
  expect(await fieldsOf(world.store.search('word'), 'seq')).toEqual([[4], [3], [1]])
})

test('records of an append that is not complete are not found', async () => {
  await using world = new SessionWorld()
  const session = await world.store.create({ id: 'mine' })
  await session.append({ type: 'note', data: 'word 1' })
  await session.append(['word 2', 'word 3', 'word 4'].map((data) => ({ type: 'note', data })))
  const path = world.path('mine', 'journal.log')
  const written = readFileSync(path, 'utf8')
  expect(await fieldsOf(world.store.search('word'), 'seq')).toEqual([[4], [3], [2], [1]])
  // As a writer leaves it that dies before the last of the three is on disk.
  writeFileSync(path, written.slice(0, written.indexOf('{"seq":4')))
  expect(await fieldsOf(world.store.search('word'), 'seq')).toEqual([[1]])
  writeFileSync(path, written)
  await session.close()
})

test('a session that cannot be read ends the search, or is reported and passed over', async () => {
  await using world = new SessionWorld()
  for (const id of ['a', 'b']) {
    await using session = await world.store.create({ id })
    await session.append({ type: 'note', data: 'word' })
  }
  writeFileSync(world.path('b', 'manifest.json'), '{')
  await expect(collect(world.store.search('word'))).rejects.toThrow('manifest of b is invalid')
  const unreadable: string[] = []
  const onUnreadable = ({ id }: { id: string }) => void unreadable.push(id)
  expect(await collect(world.store.search('word', { onUnreadable }))).toHaveLength(1)
  expect(unreadable).toEqual(['b'])
})

test('timers of the program fire while a search goes on, hits or not', async () => {
  await using world = new SessionWorld()
  await makeLarge(world, 'large', 16_000_000, [])
  for (const pattern of ['not in there', 'xxx', /[xy]z/]) {
    let ticks = 0
    const timer = setInterval(() => (ticks += 1), 1)
    await collect(world.store.search(pattern))
    clearInterval(timer)
    expect(ticks, String(pattern)).toBeGreaterThan(1)
  }
})
