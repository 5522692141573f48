import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeRecord } from '../../../test/support/decode-record.ts'
import { type CommitWay, commitWays, diskFor } from '../../../test/support/later-turns.ts'
import { World } from '../../../test/support/world.ts'
import { systemClock } from '../../base/process/clock.ts'
import { codedError } from '../../base/errors/stint-error.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { encodeBody } from '../log/codec.ts'
import { linesForwards, type LogRecord } from '../log/record.ts'
import { LogWriter, OperationQueue, type RecordOptions } from '../log/writer.ts'
import type { HeldMedium } from '../medium.ts'
import { sessionClosed, sessionFenced } from '../session-errors.ts'
import type { Receipt } from '../store.ts'
import { defaultSizes, FileLog } from './file-log.ts'
import { effectiveSegments, logStart, type Position } from './log-files.ts'
import { forwardRegions } from './regions.ts'

let world: World
let directory: string
beforeEach(() => {
  world = new World()
  directory = join(world.tmp, 'session')
  mkdirSync(directory)
})
afterEach(() => world[Symbol.asyncDispose]())

/** A writer of a journal in files that takes plain values. */
class JournalWriter {
  readonly #files: FileLog
  readonly #queue = new OperationQueue()
  readonly #writer: LogWriter

  constructor(files: FileLog, epoch: number) {
    this.#files = files
    // The part of a medium that a writer uses.
    const medium: Partial<HeldMedium> = {
      epoch,
      async append(log, group) {
        await files.append(group).catch((error: unknown) => {
          throw codedError(error, `write to the ${log}`)
        })
        return group.end
      },
    }
    this.#writer = new LogWriter({
      log: 'journal',
      medium: medium as HeldMedium,
      queue: this.#queue,
      end: files.position,
      clock: systemClock,
      check: () => {},
    })
  }

  commit(): Promise<void> {
    return this.#writer.commit()
  }

  get position(): Position {
    return this.#files.position
  }

  async end(): Promise<Position> {
    await this.#queue.run(() => this.#writer.close(sessionClosed()))
    await this.#files.close()
    return this.position
  }

  write(type: string, data: unknown, options?: RecordOptions): Promise<Pick<Receipt, 'seq'>> {
    return this.#writer
      .append(encodeBody({ type, json: JSON.stringify(data) }), options)
      .then(({ seq }) => ({ seq }))
  }
}

let way: CommitWay = 'on the event loop'

interface Opening {
  disk?: Disk
  epoch?: number
  from?: Position
  continues?: boolean
  segmentBytes?: number
  assertOwned?: () => void
}

async function open(opening: Opening = {}): Promise<JournalWriter> {
  const disk = diskFor(way, opening.disk ?? nodeDisk)
  const { epoch = 1, from = logStart('journal'), continues = false } = opening
  const { segmentBytes = defaultSizes.segmentBytes, assertOwned = () => {} } = opening
  const files = new FileLog({
    files: { disk, directory, log: 'journal' },
    start: { from, continues },
    epoch,
    sizes: { ...defaultSizes, segmentBytes },
    assertOwned,
  })
  await files.open()
  return new JournalWriter(files, epoch)
}

/** Reads the records of the effective segments. */
function records(): LogRecord[] {
  const found: LogRecord[] = []
  for (const region of forwardRegions({ disk: nodeDisk, directory, log: 'journal' }, 0))
    for (const { bytes } of linesForwards(region)) {
      const record = decodeRecord(bytes)
      if (record !== undefined) found.push(record)
    }
  return found
}

/** A disk that counts its syncs, and fails on demand. */
function faultyDisk(): Disk & { syncs: number; failing?: { call: keyof Disk; code: string; times: number } } {
  const disk: ReturnType<typeof faultyDisk> = { ...nodeDisk, syncs: 0 }
  const guarded = (call: 'write' | 'sync' | 'truncate' | 'create') => {
    const real = nodeDisk[call] as (...args: unknown[]) => unknown
    Object.assign(disk, {
      [call]: (...args: unknown[]) => {
        if (call === 'sync') disk.syncs += 1
        const { failing } = disk
        if (failing?.call === call && failing.times > 0) {
          failing.times -= 1
          throw Object.assign(new Error(failing.code), { code: failing.code })
        }
        return real(...args)
      },
    })
  }
  for (const call of ['write', 'sync', 'truncate', 'create'] as const) guarded(call)
  return disk
}

function fail(message: string): never {
  throw new Error(message)
}

describe.each(commitWays)('%s', (each) => {
  beforeEach(() => {
    way = each
  })
  afterEach(() => {
    way = 'on the event loop'
  })

  test('an append resolves when its record is on disk, with the next number', async () => {
    const writer = await open()
    for (let n = 1; n <= 3; n++) {
      expect(await writer.write('message', { n })).toEqual({ seq: n })
      expect(records().at(-1)).toMatchObject({ seq: n, group: n, epoch: 1, type: 'message', data: { n } })
    }
  })

  test('appends of one turn of the event loop share one sync, in order', async () => {
    const disk = faultyDisk()
    const writer = await open({ disk })
    const appended = await Promise.all(Array.from({ length: 512 }, (_, n) => writer.write('m', n)))
    expect(disk.syncs).toBe(1)
    expect(appended.map(({ seq }) => seq)).toEqual(Array.from({ length: 512 }, (_, n) => n + 1))
    expect(records().map(({ data, group }) => [data, group])).toEqual(
      Array.from({ length: 512 }, (_, n) => [n, 1]),
    )
  })

  test('a record with durable: false is committed with the next durable one, or after a moment', async () => {
    const disk = faultyDisk()
    const writer = await open({ disk })
    const lazy = writer.write('lazy', 1, { durable: false })
    expect(await writer.write('m', 2)).toEqual({ seq: 2 })
    expect(await lazy).toEqual({ seq: 1 })
    expect(disk.syncs).toBe(1)
    expect(await writer.write('lazy', 3, { durable: false })).toEqual({ seq: 3 })
  })

  test('data is encoded at the moment of the append', async () => {
    const writer = await open()
    const data = { n: 1 }
    const appended = writer.write('m', data)
    data.n = 2
    await appended
    expect(records()[0]?.data).toEqual({ n: 1 })
  })

  test('a segment is private and filled with newlines, which a close cuts off', async () => {
    const writer = await open()
    await writer.write('m', 1)
    await writer.write('m', 2)
    const path = join(directory, 'journal.log')
    const text = readFileSync(path, 'utf8')
    expect(text.length).toBeGreaterThan(16_000)
    expect(text.trimEnd().split('\n')).toHaveLength(2)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const { seq, offset } = await writer.end()
    expect([seq, offset]).toEqual([2, statSync(path).size])
    await expect(writer.write('m', 3)).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
  })

  test('a segment with one group is not filled, so that its close has nothing to cut off', async () => {
    const writer = await open()
    await writer.write('m', 1)
    const path = join(directory, 'journal.log')
    expect(readFileSync(path, 'utf8')).toMatch(/^\{.*\}\n$/)
    const { offset } = await writer.end()
    expect(offset).toBe(statSync(path).size)
  })

  test('a writer continues the segment that another has closed', async () => {
    const first = await open()
    await first.write('m', 1)
    const second = await open({ epoch: 2, from: await first.end(), continues: true })
    await second.write('m', 2)
    await second.end()
    expect(records().map(({ seq, epoch }) => [seq, epoch])).toEqual([
      [1, 1],
      [2, 2],
    ])
  })

  test.each([
    ['write', 'ENOSPC', 'DISK_FULL'],
    ['sync', 'EIO', 'DISK_FAILED'],
  ] as const)(
    'a %s that fails with %s rejects its group, and the next record begins a new segment',
    async (call, code, expected) => {
      const disk = faultyDisk()
      const writer = await open({ disk })
      await writer.write('m', 1)
      const { syncs } = disk
      disk.failing = { call, code, times: 1 }
      const failed = await Promise.allSettled([writer.write('m', 'lost'), writer.write('m', 'lost, too')])
      for (const each of failed)
        expect(each).toMatchObject({ status: 'rejected', reason: { code: expected } })
      // One sync for the cut, and the failed one, which is never retried.
      expect(disk.syncs - syncs).toBe(call === 'sync' ? 2 : 1)
      expect(await writer.write('m', 2)).toEqual({ seq: 2 })
      expect(records().map(({ data }) => data)).toEqual([1, 2])
      expect(readdirSync(directory).sort()).toEqual(['journal-2-1.log', 'journal.log'])
      expect(readFileSync(join(directory, 'journal.log'), 'utf8')).not.toContain('lost')
    },
  )

  test('a writer that cannot cut its segment back writes nothing more', async () => {
    const disk = faultyDisk()
    const writer = await open({ disk })
    await writer.write('m', 1)
    disk.failing = { call: 'sync', code: 'EIO', times: 2 }
    await expect(writer.write('m', 2)).rejects.toMatchObject({ code: 'DISK_FAILED' })
    await expect(writer.write('m', 3)).rejects.toMatchObject({ code: 'DISK_FAILED' })
    expect(
      records()
        .map(({ seq }) => seq)
        .filter((seq) => seq === 1),
    ).toEqual([1])
  })

  test('a segment that could not be created is created for the next record', async () => {
    const disk = faultyDisk()
    const writer = await open({ disk })
    disk.failing = { call: 'write', code: 'ENOSPC', times: 1 }
    await expect(writer.write('m', 1)).rejects.toMatchObject({ code: 'DISK_FULL' })
    disk.failing = { call: 'create', code: 'ENOSPC', times: 1 }
    await expect(writer.write('m', 1)).rejects.toMatchObject({ code: 'DISK_FULL' })
    expect(await writer.write('m', 'at last')).toEqual({ seq: 1 })
    expect(records().map(({ data }) => data)).toEqual(['at last'])
  })

  test('a large segment is followed by another, and a reader sees one journal', async () => {
    const writer = await open({ segmentBytes: 500 })
    for (let n = 1; n <= 20; n++) await writer.write('m', 'x'.repeat(100))
    await writer.end()
    expect(readdirSync(directory).length).toBeGreaterThan(3)
    expect(records().map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
  })

  test('the first segment is not created if a crash has left a later one', async () => {
    writeFileSync(join(directory, 'journal-1-2.log'), '')
    const writer = await open({ epoch: 3 })
    await writer.write('m', 1)
    expect(readdirSync(directory).sort()).toEqual(['journal-1-2.log', 'journal-1-3.log'])
    expect(records()).toHaveLength(1)
  })

  test('a writer that has lost its lock does not create a segment before that of the new writer', async () => {
    const fenced = { epoch: 1, assertOwned: () => fail('fenced') }
    await (await open({ epoch: 2 })).write('m', 'of the new writer')
    await expect(open(fenced)).rejects.toThrow('fenced')
    // As if the old writer had listed the directory before the new writer came.
    await expect(open({ ...fenced, disk: { ...nodeDisk, list: () => [] } })).rejects.toThrow('fenced')
    expect(records().map(({ data }) => data)).toEqual(['of the new writer'])
  })

  test('records of a writer that has lost its lock are not read, in any of its segments', async () => {
    const old = await open({ segmentBytes: 200 })
    await old.write('m', 'first')
    const next = await open({ epoch: 2, from: old.position })
    await next.write('m', 'of the new writer')
    for (const data of ['late', 'later', 'x'.repeat(300), 'latest']) await old.write('m', data)
    await next.write('m', 'again')
    expect(records().map(({ data }) => data)).toEqual(['first', 'of the new writer', 'again'])
  })

  test('while the lock cannot be read, each append is rejected and absent; later ones are acknowledged', async () => {
    let code: string | undefined
    const writer = await open({
      assertOwned: () => {
        if (code !== undefined) throw Object.assign(new Error(code), { code })
      },
    })
    await writer.write('m', 1)
    code = 'EMFILE'
    for (let n = 2; n < 4; n++) {
      await expect(writer.write('m', 'rejected')).rejects.toMatchObject({ code: 'TOO_MANY_FILES' })
      expect(records().map(({ data }) => data)).toEqual([1])
    }
    code = undefined
    expect(await writer.write('m', 2)).toEqual({ seq: 2 })
    await writer.end()
    expect(records().map(({ data }) => data)).toEqual([1, 2])
  })

  test('an append whose record cannot be cut off again is not called retryable', async () => {
    const disk = faultyDisk()
    const writer = await open({ disk })
    await writer.write('m', 1)
    disk.failing = { call: 'write', code: 'ENOSPC', times: 1 }
    const truncate = (): never => {
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    }
    Object.assign(disk, { truncate })
    await expect(writer.write('m', 2)).rejects.toMatchObject({ code: 'DISK_FAILED', retryable: false })
  })

  test('every line of a segment that is followed by another is JSON', async () => {
    const writer = await open({ segmentBytes: 500 })
    for (let n = 1; n <= 20; n++) await writer.write('m', `line ${n} \u2028`)
    const segments = effectiveSegments('journal', readdirSync(directory)).slice(0, -1)
    expect(segments.length).toBeGreaterThan(2)
    for (const { name, firstSeq } of segments) {
      const lines = readFileSync(join(directory, name), 'utf8').split('\n')
      expect(lines.pop()).toBe('')
      expect(lines.map((line) => JSON.parse(line) as unknown)[0]).toMatchObject({ seq: firstSeq, type: 'm' })
    }
  })

  test('a record that was written after the lock was lost is rejected, and the writer writes nothing more', async () => {
    let isOwned = true
    const writer = await open({
      assertOwned: () => {
        if (!isOwned) throw sessionFenced('mine')
      },
    })
    await writer.write('m', 1)
    isOwned = false
    await expect(writer.write('m', 2)).rejects.toMatchObject({ code: 'FENCED' })
    const left = readFileSync(join(directory, 'journal.log'))
    isOwned = true
    await expect(writer.write('m', 3)).rejects.toMatchObject({ code: 'FENCED' })
    await writer.end()
    expect(readFileSync(join(directory, 'journal.log'))).toEqual(left)
  })
})

test('a record on disk is acknowledged even if its applied callback throws', async () => {
  const writer = await open()
  const appended = writer.write('m', 1, { applied: () => fail('a bug') })
  await expect(writer.commit()).rejects.toThrow('a bug')
  expect(await appended).toMatchObject({ seq: 1 })
})
