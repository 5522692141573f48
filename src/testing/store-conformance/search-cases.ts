import { deepEqual, equal, ok } from 'node:assert/strict'
import { codeOf, collect, fieldsOf, type StoreCases } from '../conformance-case.ts'

/** Texts that stand in a line in another form than they were typed, or that JSON could be mistaken for. */
const oddTexts = [
  'say "hello" twice',
  'first line\nsecond line\ttab',
  String.raw`C:\new\table`,
  'grüße 日本語 🙂',
  'a\u2028b\u2029c',
  'nul \0 end',
  '{"code":2}',
  '\\"',
]

/** Searches. */
export const searchCases: StoreCases = {
  async 'a search finds a text as it was typed, and says where'(store) {
    await using session = await store.create()
    for (const text of oddTexts)
      await session.append({ type: 'odd', data: { list: [{ text: `<${text}>` }] } })
    for (const [i, text] of oddTexts.entries()) {
      const found = await collect(store.search(text))
      const seqs = found.filter(({ path }) => path === 'data.list[0].text').map(({ seq }) => seq)
      deepEqual(seqs, [i + 1], text)
    }
  },
  async 'a text that only the escapes of JSON seem to contain is not found'(store) {
    await using session = await store.create()
    await session.append({ type: 'note', data: { text: 'one\name' } })
    deepEqual(await collect(store.search('name')), [])
    // Nor are the names of the fields around the data.
    for (const word of ['seq', 'epoch', 'crc', 'data']) deepEqual(await collect(store.search(word)), [], word)
  },
  async 'types, keys and numbers are searched, and JSON as it is printed'(store) {
    await using session = await store.create()
    await session.append({ type: 'special-type', data: { 'the key': 4711, open: false } })
    const pathOf = async (text: string) => (await collect(store.search(text)))[0]?.path
    equal(await pathOf('special'), 'type')
    equal(await pathOf('the k'), 'data["the key"]')
    equal(await pathOf('471'), 'data["the key"]')
    equal(await pathOf('false'), 'data.open')
    equal(await pathOf('"open":false'), 'data')
  },
  async 'the newest session comes first, and in it the newest event'(store, place) {
    let now = 1_700_000_000_000
    const timed = await place.open({ now: () => (now += 1000), mono: () => now })
    for (const id of ['older', 'newer']) {
      await using session = await timed.create({ id })
      for (let n = 1; n <= 3; n++) await session.append({ type: 'note', data: `word ${n}` })
    }
    const found = await collect(store.search('word'))
    deepEqual(
      found.map(({ session, seq }) => `${session.id} ${seq}`),
      ['newer 3', 'newer 2', 'newer 1', 'older 3', 'older 2', 'older 1'],
    )
  },
  async 'a search can be narrowed by type, time, program and workspace'(store) {
    for (const tool of ['one', 'two']) {
      await using session = await store.create({ id: tool, tool, workspace: `/${tool}` })
      await session.append({ type: 'a', data: 'word' })
      await session.append({ type: 'b', data: 'word' })
      await session.slot('word', { version: '1', initial: 0 }).set(1)
    }
    const count = async (options: object) => (await collect(store.search('word', options))).length
    deepEqual(await Promise.all([{}, { type: 'a' }, { tool: 'one' }].map(count)), [4, 2, 2])
    deepEqual(await Promise.all([{ workspace: '/two', type: 'b' }, { tool: 'three' }].map(count)), [1, 0])
    deepEqual(await Promise.all([{ since: '1h' }, { type: 'stint.slot' }].map(count)), [4, 2])
    await new Promise((resolve) => setTimeout(resolve, 20))
    equal(await count({ since: 1 }), 0)
    equal(await codeOf(collect(store.search(''))), 'ARG_ERROR')
    equal(await codeOf(collect(store.search('x', { since: 'soon' }))), 'ARG_ERROR')
  },
  async 'a regular expression is matched against each string'(store) {
    await using session = await store.create()
    for (const text of ['exit code 0', 'exit code 17', 'say "exit"\n', 'EXIT CODE 5'])
      await session.append({ type: 'note', data: { text } })
    const seqs = (pattern: RegExp) => fieldsOf(store.search(pattern), 'seq')
    deepEqual(await seqs(/exit code [1-9]/g), [[2]])
    deepEqual(await seqs(/^say "exit"\s$/), [[3]])
    deepEqual(await seqs(/exit code \d$/i), [[4], [1]])
    deepEqual(await seqs(/\d{2}/), [[2]])
    deepEqual(await seqs(/^code/), [])
  },
  async 'data that is stored apart is searched, too'(store) {
    await using session = await store.create()
    const filler = 'all work and no play \\ "makes" '.repeat(60_000)
    await session.append({ type: 'large', data: { text: `${filler}the "needle"\n7f3a ${filler}` } })
    await session.append({ type: 'large', data: { text: `${filler}none\\here` } })
    await session.append({ type: 'small', data: 'the "needle"\n7f3a' })
    for (const pattern of ['the "needle"\n7f3a', /needle"\s\d\w+/, /[n]eedle"\n/]) {
      const found = await collect(store.search(pattern))
      deepEqual(
        found.map(({ seq }) => seq),
        [3, 1],
      )
      ok(found[1]?.excerpt.includes('the "needle" 7f3a all'), found[1]?.excerpt)
      ok((found[1]?.excerpt.length ?? 999) < 200)
    }
    deepEqual(await collect(store.search('nonehere')), [])
  },
  async 'a search that is left early ends, and a removed session is not searched'(store) {
    for (const id of ['a', 'b']) {
      await using session = await store.create({ id })
      for (let n = 0; n < 300; n++) void session.append({ type: 'note', data: 'word' })
    }
    let count = 0
    for await (const _ of store.search('word')) if (++count === 2) break
    equal(count, 2)
    await store.remove('a')
    const ids = new Set((await collect(store.search('word'))).map(({ session }) => session.id))
    deepEqual([...ids], ['b'])
  },
}
