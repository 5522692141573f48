import { deepEqual, equal, ok } from 'node:assert/strict'
import {
  codecs,
  emptyLogEnds,
  type HeldMedium,
  isSameEnd,
  type LogGroup,
  type LogName,
  type LogTail,
  type Manifest,
  type Medium,
  newManifest,
  type ReadableMedium,
  revised,
  type SessionContents,
} from '../../session/index.ts'
import { codeOf, rejects, type StoreCases } from '../conformance-case.ts'

const writer = { kind: 'writer', purpose: 'conformance' } as const
const createdAt = 1_700_000_000_000
const last = Number.MAX_SAFE_INTEGER

/** The manifest of a new session, as the store of this id makes one. */
export const manifestOf = (id: string, store: string): Manifest =>
  revised(newManifest(id, store, createdAt), createdAt, { kind: 'create', tool: 'test' })

export const noContents: SessionContents = { async *groups() {}, async *blobs() {} }

/** Lines from record `first` to `last` of a log, after its end. */
function linesOf(log: LogName, from: LogGroup['end'], count: number, pad = 0): LogGroup {
  let end = from
  let text = ''
  for (let n = 1; n <= count; n++) {
    const seq = from.seq + n
    const header = { seq, at: createdAt + seq, group: from.seq + 1, epoch: 1 }
    const body = `"type":"note","data":"${seq} ${'ö'.repeat(pad)}"`
    const made = codecs[log].encode(header, body, end.sum)
    text += `${made.line}\n`
    end = { seq, sum: made.sum }
  }
  return { lines: Buffer.from(text), end, lastAt: createdAt + end.seq }
}

/** Where a log ends, by its last line. */
async function tailOf(medium: ReadableMedium, log: LogName): Promise<LogTail> {
  let tail: LogTail = { end: emptyLogEnds[log], segment: '', offset: 0, torn: [] }
  for await (const { bytes, segment, offset } of medium.regions(log, { from: 0, backwards: false })) {
    const line = bytes.subarray(bytes.lastIndexOf(0x0a, bytes.length - 2) + 1, -1)
    const { seq } = JSON.parse(line.toString()) as { seq: number }
    tail = { end: { seq, sum: codecs[log].sumOf(line) }, segment, offset: offset + bytes.length, torn: [] }
  }
  return tail
}

async function begun(held: HeldMedium): Promise<HeldMedium> {
  await held.begin({ journal: await tailOf(held, 'journal'), audit: await tailOf(held, 'audit') })
  return held
}

const create = async (medium: Medium, id: string): Promise<HeldMedium> =>
  await begun(await medium.create(manifestOf(id, medium.id), writer))

/** The numbers of the records in each region. */
async function seqsIn(
  medium: ReadableMedium,
  log: LogName,
  from: number,
  backwards: boolean,
): Promise<number[][]> {
  const seqs: number[][] = []
  for await (const { bytes } of medium.regions(log, { from, backwards })) {
    ok(bytes.length > 0 && bytes.at(-1) === 0x0a, 'a region has whole lines')
    const lines = bytes
      .toString()
      .split('\n')
      .filter((line) => line !== '')
    seqs.push(lines.map((line) => (JSON.parse(line) as { seq: number }).seq))
  }
  return seqs
}

async function contentOf(medium: ReadableMedium, sha256: string): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of medium.blob(sha256)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** What a medium stores, without a store above it. */
export const mediumCases: StoreCases = {
  async 'lines are read as they were added, in both directions and from any record'(_, place) {
    const medium = await place.medium()
    const held = await create(medium, 'lines')
    let { end } = linesOf('journal', emptyLogEnds.journal, 0)
    for (const count of [1, 400, 3]) {
      const group = linesOf('journal', end, count, count === 400 ? 500 : 0)
      end = await held.append('journal', group)
      ok(isSameEnd(end, group.end))
    }
    await held.append('audit', linesOf('audit', emptyLogEnds.audit, 2))
    for (const reader of [held, await (await place.medium()).read('lines')]) {
      deepEqual((await seqsIn(reader, 'journal', 0, false)).flat(), numbers(1, 404))
      deepEqual((await seqsIn(reader, 'audit', 0, false)).flat(), [1, 2])
      deepEqual((await seqsIn(reader, 'journal', last, true)).toReversed().flat(), numbers(1, 404))
      for (const from of [2, 200, 404]) {
        const forwards = (await seqsIn(reader, 'journal', from, false)).flat()
        ok((forwards[0] ?? 0) <= from)
        deepEqual(forwards, numbers(forwards[0] ?? 0, 404))
        const backwards = (await seqsIn(reader, 'journal', from, true)).toReversed().flat()
        ok((backwards.at(-1) ?? 0) >= from)
        deepEqual(backwards, numbers(1, backwards.at(-1) ?? 0))
      }
    }
    await held.release()
    const [listed] = await medium.list({})
    for (const summary of [(await medium.read('lines')).summary, listed]) {
      const { records, lastAt, holder, state } = summary ?? {}
      deepEqual([records, lastAt, holder, state], [404, createdAt + 404, undefined, 'closed'])
    }
  },
  async 'a blob and the texts of a state are read back, the last one of each name'(_, place) {
    const medium = await place.medium()
    const held = await create(medium, 'contents')
    const [sha256, content] = ['ab'.repeat(32), JSON.stringify('ü'.repeat(400_000))]
    await held.putBlob(sha256, Buffer.from(content))
    await held.putBlob(sha256, Buffer.from(content))
    await held.saveState(
      new Map([
        ['', 'head'],
        ['@a/b', 'one'],
        ['c', 'two'],
      ]),
      false,
    )
    await held.saveState(new Map([['@a/b', 'three']]), true)
    await held.release()
    const reader = await (await place.medium()).read('contents')
    ok((await contentOf(reader, sha256)) === content)
    equal(await contentOf(reader, 'cd'.repeat(32)), '')
    const texts = await reader.state(['', '@a/b', 'missing'])
    deepEqual([...texts].sort(), [
      ['', 'head'],
      ['@a/b', 'three'],
    ])
  },
  async 'the manifest is the last one that was saved, with keys that are unknown'(_, place) {
    const medium = await place.medium()
    const manifest = { ...manifestOf('named', medium.id), later: { a: [1] } }
    const held = await begun(await medium.create(manifest, writer))
    const next = { ...revised(manifest, createdAt, { kind: 'annotate', title: 'new' }), key: 'k' }
    await held.saveManifest(next)
    deepEqual(held.manifest, next)
    deepEqual((await (await place.medium()).read('named')).manifest, next)
    equal((await medium.list({})).find(({ id }) => id === 'named')?.title, 'new')
    await held.release()
  },
  async 'a session has one holder, whose epoch is higher than every earlier one'(_, place) {
    const medium = await place.medium()
    const held = await create(medium, 'held')
    await rejects('NAME_TAKEN', medium.create(manifestOf('held', medium.id), writer))
    await rejects('SESSION_LOCKED', medium.open('held', writer), medium.remove('held', {}))
    await rejects('NOT_FOUND', medium.open('none', writer), medium.read('none'), medium.remove('none', {}))
    const { state, holder } = (await (await place.medium()).read('held')).summary
    deepEqual([state, holder?.kind, holder?.purpose], ['active', 'writer', 'conformance'])
    await held.release()
    await held.release()
    const next = await (await place.medium()).open('held', { kind: 'visitor' })
    ok(next.epoch > held.epoch)
    equal(next.previous, undefined)
    // Without a `begin`, the session is as it was found.
    await next.release()
    const again = await medium.open('held', writer)
    ok(again.epoch > next.epoch)
    await (await begun(again)).release()
  },
  async 'a holder that has lost the session writes nothing more'(_, place) {
    const medium = await place.medium()
    const held = await create(medium, 'lost')
    const end = await held.append('journal', linesOf('journal', emptyLogEnds.journal, 2))
    const heir = await (await place.medium()).open('lost', { ...writer, force: true })
    ok(heir.previous !== undefined && heir.epoch > held.epoch)
    await begun(heir)
    const late = revised(held.manifest, createdAt, { kind: 'annotate', title: 'late' })
    for (const write of [
      () => held.append('journal', linesOf('journal', end, 1, 7)),
      () => held.append('audit', linesOf('audit', emptyLogEnds.audit, 1, 7)),
      () => held.saveState(new Map([['', 'late']]), false),
      () => held.saveManifest(late),
      () => held.beat(),
    ])
      equal(await codeOf(write()), 'FENCED')
    const added = linesOf('journal', end, 1)
    deepEqual(await heir.append('journal', added), added.end)
    await heir.beat()
    equal(await codeOf(held.release()), 'FENCED')
    await heir.release()
    const reader = await medium.read('lost')
    deepEqual((await seqsIn(reader, 'journal', 0, false)).flat(), [1, 2, 3])
    deepEqual(await tailOf(reader, 'journal').then((tail) => tail.end), added.end)
    deepEqual((await seqsIn(reader, 'audit', 0, false)).flat(), [])
    deepEqual((await reader.state([''])).size, 0)
    equal(reader.summary.title, undefined)
  },
  async 'a released session says where its logs end'(_, place) {
    const medium = await place.medium()
    const held = await create(medium, 'ended')
    const journal = await held.append('journal', linesOf('journal', emptyLogEnds.journal, 5))
    const audit = await held.append('audit', linesOf('audit', emptyLogEnds.audit, 3))
    await held.saveManifest(revised(held.manifest, createdAt, { kind: 'close' }))
    await held.release()
    deepEqual((await (await place.medium()).read('ended')).ends, { journal, audit })
  },
  async 'contents are loaded whole, or not at all'(_, place) {
    const medium = await place.medium()
    const sha256 = 'ef'.repeat(32)
    const first = linesOf('journal', emptyLogEnds.journal, 300, 100)
    const second = linesOf('journal', first.end, 2)
    const audit = linesOf('audit', emptyLogEnds.audit, 4)
    const contents = (fails: boolean): SessionContents => ({
      async *groups(log) {
        if (log === 'journal') yield* [first, second]
        else yield audit
        if (fails) throw Object.assign(new Error('as ordered'), { code: 'EIO' })
      },
      async *blobs() {
        yield { sha256, content: Buffer.from('blob') }
      },
    })
    await codeOf(medium.load(manifestOf('loaded', medium.id), contents(true)))
    equal(await codeOf(medium.read('loaded')), 'NOT_FOUND')
    await medium.load(manifestOf('loaded', medium.id), contents(false))
    await rejects('NAME_TAKEN', medium.load(manifestOf('loaded', medium.id), noContents))
    const reader = await (await place.medium()).read('loaded')
    deepEqual((await seqsIn(reader, 'journal', 0, false)).flat(), numbers(1, 302))
    deepEqual((await seqsIn(reader, 'audit', 0, false)).flat(), [1, 2, 3, 4])
    equal(await contentOf(reader, sha256), 'blob')
    const { records, state, lastAt } = reader.summary
    deepEqual([records, state, lastAt], [302, 'closed', createdAt + 302])
  },
  async 'a session that was removed leaves nothing to the next one with its id'(_, place) {
    const medium = await place.medium()
    for (const purge of [false, true]) {
      const held = await create(medium, 'again')
      await held.append('journal', linesOf('journal', emptyLogEnds.journal, 2))
      await held.putBlob('12'.repeat(32), Buffer.from('old'))
      await held.saveState(new Map([['', 'old']]), true)
      await held.release()
      await (await place.medium()).remove('again', { purge })
      equal(await codeOf(medium.read('again')), 'NOT_FOUND')
      deepEqual(await medium.list({}), [])
    }
    const next = await create(medium, 'again')
    deepEqual(await seqsIn(next, 'journal', 0, false), [])
    equal(await contentOf(next, '12'.repeat(32)), '')
    equal((await next.state([''])).size, 0)
    await next.release()
  },
  async 'a session that is created and not begun is gone when it is given back'(_, place) {
    const medium = await place.medium()
    const held = await medium.create(manifestOf('brief', medium.id), writer)
    await held.release()
    equal(await codeOf(medium.read('brief')), 'NOT_FOUND')
  },
  async 'damage that was noted is shown to lists and writers until it is gone'(_, place) {
    const medium = await place.medium()
    await (await create(medium, 'noted')).release()
    await (await place.medium()).noteDamage('noted', 'a record is missing')
    equal((await medium.list({}))[0]?.state, 'damaged')
    const held = await medium.open('noted', writer)
    ok(held.damage?.includes('a record is missing'))
    await held.release()
    await medium.noteDamage('noted', undefined)
    equal((await medium.list({}))[0]?.state, 'closed')
  },
  async 'a holder hears once that another process wants its session'(_, place) {
    const medium = await place.medium()
    const other = await place.medium()
    for (const id of ['one', 'two', 'three']) await (await create(medium, id)).release()
    await other.want('two')
    await other.want('two')
    await other.want('three')
    deepEqual(await medium.wanted(['one', 'two']), ['two'])
    deepEqual(await medium.wanted(['one', 'two']), [])
    deepEqual(await medium.wanted(['one', 'three']), ['three'])
  },
}
