import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { CrashDisk } from '../../../test/support/crash-disk.ts'
import { emptyDisk, pathsOf, readingOf, SimulatedMedium } from '../../../test/support/crash-driver.ts'
import { SimulatedLocks } from '../../../test/support/crash-locks.ts'
import { Simulation } from '../../../test/support/crash-simulation.ts'
import { id } from '../../../test/support/crash-workloads.ts'
import { decodeRecord } from '../../../test/support/decode-record.ts'
import { auditCodec, journalCodec } from './codec.ts'
import { readFile } from '../../base/fs/disk.ts'
import { verifyLogs } from './verify.ts'
import type { Health } from '../store.ts'

/** Writes a session with one of everything, and one segment for each log. */
async function written(close: boolean): Promise<CrashDisk> {
  const simulation = new Simulation({ disk: emptyDisk(), sizes: { growBytes: 40, inlineChars: 200 } })
  const session = await simulation.create(id)
  await Promise.all(['1', '2'].map((n) => session.append(n)))
  await session.act('a')
  await session.set('x', '3', 300)
  await session.note('b')
  await session.append('4')
  if (close) await session.close()
  else await session.note('c')
  return simulation.disk
}

const logs = {
  journal: join(pathsOf(id).root, 'journal.log'),
  audit: join(pathsOf(id).audit, 'audit.log'),
} as const

const contentOf = (disk: CrashDisk, path: string): Buffer => readFile(disk, path) ?? Buffer.alloc(0)

/** Verifies a session in which one file has other contents. */
async function verifyWith(disk: CrashDisk, path: string, content: Buffer): Promise<Health> {
  const was = contentOf(disk, path)
  put(disk, path, content)
  const manifest = new SimulatedMedium(disk, new SimulatedLocks(), {}).manifestOf(id)
  const health = await verifyLogs(readingOf(disk, id, manifest))
  put(disk, path, was)
  return health
}

function put(disk: CrashDisk, path: string, content: Buffer): void {
  const file = disk.open(path)
  disk.truncate(file, 0)
  for (let done = 0; done < content.length;) done += disk.write(file, content, done, done)
  disk.sync(file)
  disk.close(file)
}

const linesForwards = (content: Buffer): string[] =>
  content
    .toString()
    .split('\n')
    .filter((line) => line !== '')

const joined = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''))

/** The contents with each bit of a range flipped. */
function* flips(content: Buffer, from = 0, end = content.length): Generator<[string, Buffer]> {
  for (let at = from; at < end; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(content)
      changed[at] = (changed[at] as number) ^ (1 << bit)
      yield [`bit ${bit} of byte ${at}`, changed]
    }
  }
}

describe.each(['journal', 'audit'] as const)('the %s', (log) => {
  const path = logs[log]
  let closed: CrashDisk
  let open: CrashDisk
  beforeAll(async () => {
    closed = await written(true)
    open = await written(false)
  })

  /** The changes that verification does not notice. */
  const unnoticed = async (disk: CrashDisk, changes: Iterable<[string, Buffer]>): Promise<string[]> => {
    const missed: string[] = []
    for (const [what, content] of changes) if ((await verifyWith(disk, path, content)).ok) missed.push(what)
    return missed
  }

  test('is whole as it was written', async () => {
    for (const disk of [closed, open])
      expect((await verifyWith(disk, path, contentOf(disk, path))).ok).toBe(true)
  })

  test('of a closed session: any flipped bit is noticed', async () => {
    const content = contentOf(closed, path)
    expect(await unnoticed(closed, flips(content))).toEqual([])
  })

  test('of an open session: any flipped bit in the last line and the filling is noticed', async () => {
    const content = contentOf(open, path)
    const end = content.toString().trimEnd().length
    expect(await unnoticed(open, flips(content, content.lastIndexOf('\n{') + 1, end + 40))).toEqual([])
  })

  test('of a closed session: a cut at any byte is noticed', async () => {
    const content = contentOf(closed, path)
    const cuts = Array.from({ length: content.length }, (_, end): [string, Buffer] => [
      `cut at ${end}`,
      content.subarray(0, end),
    ])
    expect(await unnoticed(closed, cuts)).toEqual([])
  })

  test('of an open session: only the loss of whole records that nothing attests goes unnoticed', async () => {
    const lines = linesForwards(contentOf(open, path))
    const content = joined(lines)
    const cuts = Array.from({ length: content.length }, (_, end): [string, Buffer] => [
      `${linesForwards(content.subarray(0, end)).length}`,
      content.subarray(0, end),
    ])
    // The last journal record attests three lines of the audit log; nothing attests the journal.
    const attested = log === 'audit' ? 3 : 0
    const possible = lines.map((_, count) => `${count}`).slice(attested)
    // A last line without a newline is torn, whatever its contents.
    expect(await unnoticed(open, cuts)).toEqual(possible)
  })

  test('of a closed session: any removed, duplicated or swapped line is noticed', async () => {
    const lines = linesForwards(contentOf(closed, path))
    const changes = lines.flatMap((line, i): [string, Buffer][] => [
      [`${i} removed`, joined(lines.toSpliced(i, 1))],
      [`${i} duplicated`, joined(lines.toSpliced(i, 0, line))],
      ...lines.flatMap((other, j): [string, Buffer][] =>
        j > i ? [[`${i} and ${j} swapped`, joined(lines.with(i, other).with(j, line))]] : [],
      ),
    ])
    expect(await unnoticed(closed, changes)).toEqual([])
  })
})

test('an audit line that is rewritten with the right hash, alone or with all lines after it, is noticed', async () => {
  const disk = await written(true)
  const lines = linesForwards(contentOf(disk, logs.audit))
  const forge = (from: number, through: number): Buffer => {
    let sum = auditCodec.genesis
    return joined(
      lines.map((line, i) => {
        const record = decodeRecord(Buffer.from(line))
        if (record === undefined) throw new Error('a line is damaged')
        const { seq, at, group, epoch, type, data } = record
        const text = JSON.stringify(i === from ? { ...(data as object), forged: true } : data)
        const made = auditCodec.encode({ seq, at, group, epoch }, `"type":"${type}","data":${text}`, sum)
        sum = auditCodec.sumOf(Buffer.from(i >= from && i <= through ? made.line : line))
        return i >= from && i <= through ? made.line : line
      }),
    )
  }
  for (let from = 0; from < lines.length; from++)
    for (const through of [from, lines.length - 1])
      expect([from, through, (await verifyWith(disk, logs.audit, forge(from, through))).ok]).toEqual([
        from,
        through,
        false,
      ])
})

test('a journal line that is rewritten with the right checksum goes unnoticed', async () => {
  const disk = await written(true)
  const lines = linesForwards(contentOf(disk, logs.journal))
  const { seq, at, group, epoch } = decodeRecord(Buffer.from(lines[0] ?? '')) ?? {
    seq: 0,
    at: 0,
    group: 0,
    epoch: 0,
  }
  const { line } = journalCodec.encode(
    { seq, at, group, epoch },
    '"type":"message","data":{"n":"forged"}',
    '',
  )
  expect((await verifyWith(disk, logs.journal, joined(lines.with(0, line)))).ok).toBe(true)
})

test('a blob that is changed or cut off is noticed', async () => {
  const disk = await written(true)
  const { blobs } = pathsOf(id)
  const path = join(blobs, disk.list(blobs)[0] ?? '')
  const content = contentOf(disk, path)
  for (const changed of [
    content.subarray(1),
    Buffer.concat([content, Buffer.from('x')]),
    Buffer.alloc(content.length),
  ])
    expect(await verifyWith(disk, path, changed)).toMatchObject({ ok: false, blobs: [expect.any(String)] })
})
