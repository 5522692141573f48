import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ReadableMedium } from '../medium.ts'
import { emptyLogEnd, encodeBody, journalCodec } from './codec.ts'
import type { RecordHeader } from './record.ts'
import { type LogState, scanLog } from './scan.ts'

type Header = Pick<RecordHeader, 'seq' | 'group'>

const record = (seq: number, group = seq): Header => ({ seq, group })

const body = encodeBody({ type: 'note', json: 'null' })

/** Scans a journal of these lines; `0` stands for a line that is not intact. */
async function classify(
  lines: readonly (Header | 0)[],
  attestedSeq = 0,
): Promise<{ state: LogState; lastSeq: number }> {
  const texts = lines.map((line) =>
    line === 0 ? 'not a record' : journalCodec.encode({ ...line, at: 1, epoch: 1 }, body, '').line,
  )
  const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''))
  const medium = {
    async *regions() {
      yield { bytes, segment: 'journal.log', offset: 0 }
    },
  }
  const scanned = await scanLog(medium as unknown as ReadableMedium, 'journal', {
    from: emptyLogEnd('journal'),
    attestedSeq: () => attestedSeq,
    onRecord: () => undefined,
  })
  return { state: scanned?.state ?? 'damaged', lastSeq: scanned?.end.seq ?? -1 }
}

/** Records from 1 on, in groups of these sizes. */
function inGroups(...sizes: number[]): Header[] {
  const records: Header[] = []
  for (const size of sizes) {
    const group = records.length + 1
    for (let i = 0; i < size; i++) records.push(record(records.length + 1, group))
  }
  return records
}

test('a log with every record in its place is whole', async () => {
  expect(await classify([])).toEqual({ state: 'whole', lastSeq: 0 })
  expect(await classify(inGroups(1, 3, 2))).toEqual({ state: 'whole', lastSeq: 6 })
})

test('a log with a bad or missing record in the last group is torn: the group may not have been acknowledged', async () => {
  const lines = inGroups(2, 3)
  for (const bad of [2, 3, 4]) {
    expect(await classify(lines.with(bad, 0 as never))).toEqual({ state: 'torn', lastSeq: bad })
    // A missing record at the very end cannot be told from one that was never written.
    const state = bad === 4 ? 'whole' : 'torn'
    expect(await classify(lines.toSpliced(bad, 1))).toEqual({ state, lastSeq: bad })
  }
})

test('a log with a bad or missing record before the last group is damaged: that record was on disk', async () => {
  const lines = inGroups(2, 3, 1)
  for (const bad of [0, 1, 2, 3, 4]) {
    const damage = { state: 'damaged', lastSeq: bad }
    expect(await classify(lines.with(bad, 0 as never))).toEqual(damage)
    expect(await classify(lines.toSpliced(bad, 1))).toEqual(damage)
  }
})

test('a log that lacks an attested record is damaged, even if it is the last one', async () => {
  expect((await classify(inGroups(2, 3), 5)).state).toBe('whole')
  expect(await classify(inGroups(2, 3), 6)).toMatchObject({ state: 'damaged', lastSeq: 5 })
  const cut = inGroups(2, 3).with(4, 0 as never)
  expect(await classify(cut, 5)).toMatchObject({ state: 'damaged', lastSeq: 4 })
})

test('records that are out of order, repeated or in a later group are not intact', async () => {
  expect(await classify([record(1), record(3), record(2)])).toMatchObject({ state: 'damaged', lastSeq: 1 })
  expect(await classify([record(1), record(1)])).toMatchObject({ state: 'torn', lastSeq: 1 })
  expect(await classify([record(1, 9)])).toMatchObject({ lastSeq: 0 })
})

test('the loss of any records of the last group never affects the records before it', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(sizes, fc.infiniteStream(fc.boolean()), async (sizes, survives) => {
      const lines = inGroups(...sizes)
      const acknowledged = lines.length - (sizes.at(-1) ?? 0)
      const left = lines.map((line) => (line.seq <= acknowledged || survives.next().value ? line : 0))
      const { state, lastSeq } = await classify(left)
      expect(state).not.toBe('damaged')
      expect(lastSeq).toBeGreaterThanOrEqual(acknowledged)
    }),
  )
})
