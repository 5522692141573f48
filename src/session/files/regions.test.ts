import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { codecs, encodeBody } from '../log/codec.ts'
import { linesBackwards, linesForwards } from '../log/record.ts'
import type { LogFiles } from './log-files.ts'
import { backwardRegions, forwardRegions } from './regions.ts'

let world: World
let directory: string
beforeEach(() => {
  world = new World()
  directory = join(world.tmp, 'session')
  mkdirSync(directory)
})
afterEach(() => world[Symbol.asyncDispose]())

/** A disk that reads at most a few bytes at a time, as a file may. */
const readingAtMost = (bytes: number): Disk => ({
  ...nodeDisk,
  read: (file, into, position) => nodeDisk.read(file, into.subarray(0, bytes), position),
})

const filesOn = (disk: Disk = nodeDisk): LogFiles => ({ disk, directory, log: 'journal' })

const write = (name: string, content: string): void =>
  writeFileSync(join(directory, name), content, { mode: 0o600 })

/** Each line with its offset, and whether it has a newline. */
const forwards = (files: LogFiles, from = 0): string[] =>
  [...forwardRegions(files, from)].flatMap((region) =>
    Array.from(
      linesForwards(region),
      ({ bytes, offset, ended }) => `${offset} ${bytes.toString('latin1')} ${ended}`,
    ),
  )
const backwards = (files: LogFiles, from?: number): string[] =>
  [...backwardRegions(files, from)].flatMap((region) =>
    Array.from(
      linesBackwards(region),
      ({ bytes, offset, ended }) => `${offset} ${bytes.toString('latin1')} ${ended}`,
    ),
  )

function linesIn(content: string): string[] {
  const bytes = Buffer.from(content)
  const lines: string[] = []
  for (let start = 0; start < bytes.length;) {
    const at = bytes.indexOf(0x0a, start)
    const end = at < 0 ? bytes.length : at
    if (end > start) lines.push(`${start} ${bytes.toString('latin1', start, end)} ${at >= 0}`)
    start = end + 1
  }
  return lines
}

test('lines are read forwards and backwards, in whatever pieces the file is read', () => {
  const piece = fc.oneof(fc.constant('\n'), fc.string({ maxLength: 6 }), fc.constant('x'.repeat(40)))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, atMost) => {
      const content = pieces.join('')
      write('journal.log', content)
      expect(forwards(filesOn(readingAtMost(atMost)))).toEqual(linesIn(content))
      expect(backwards(filesOn(readingAtMost(atMost)))).toEqual(linesIn(content).toReversed())
    }),
    { numRuns: 60 },
  )
})

test('lines of any length around the borders of what is read at once are whole, in both directions', () => {
  const lengths = [1, 5, 200, 5000, 16_383, 16_384, 262_143, 262_144, 300_000]
  const content = lengths.map((length, n) => `${'é'.repeat(length >> 1)}${n}\n`).join('')
  write('journal.log', content)
  expect(forwards(filesOn())).toEqual(linesIn(content))
  expect(backwards(filesOn())).toEqual(linesIn(content).toReversed())
})

test('the filling at the end of a segment, and between two records, is skipped', () => {
  const content = `one\n${'\n'.repeat(1 << 20)}two\n${'\n'.repeat(1 << 20)}`
  write('journal.log', content)
  expect(forwards(filesOn())).toEqual([`0 one true`, `${5 + (1 << 20) - 1} two true`])
  expect(backwards(filesOn())).toEqual([`${5 + (1 << 20) - 1} two true`, `0 one true`])
})

test('a line that is longer than any record is left out when reading backwards, and those around it are read', () => {
  write('journal.log', `first\n${'x'.repeat(9 << 20)}\nlast\n`)
  const lines = backwards(filesOn())
  expect([lines.at(0)?.endsWith('last true'), lines.at(-1)]).toEqual([true, '0 first true'])
})

/** Records from one number to another. */
const recordLines = (from: number, to: number, pad = 0): string =>
  Array.from({ length: to - from + 1 }, (_, n) => {
    const header = { seq: from + n, at: 1, group: from + n, epoch: 1 }
    return `${codecs.journal.encode(header, encodeBody({ type: 'note', json: JSON.stringify('x'.repeat(pad)) }), '').line}\n`
  }).join('')

const seqs = (lines: readonly string[]): number[] =>
  lines.map((line) => Number(/"seq":(\d+)/.exec(line)?.[1]))

test('reading begins close to the record that is asked for, in a long segment', () => {
  write('journal.log', recordLines(1, 4000, 500))
  for (const from of [1, 1999, 4000]) {
    const after = seqs(forwards(filesOn(), from))
    expect([(after[0] ?? 0) <= from, from - (after[0] ?? 0) < 600, after.at(-1)]).toEqual([true, true, 4000])
    const before = seqs(backwards(filesOn(), from))
    expect([(before[0] ?? 0) >= from, (before[0] ?? 0) - from < 600, before.at(-1)]).toEqual([true, true, 1])
  }
})

test('records that a later segment supersedes are not read, nor what follows them', () => {
  write('journal.log', `${recordLines(1, 5)}{"torn`)
  write('journal-4-2.log', recordLines(4, 6))
  write('journal-7-3.log', recordLines(7, 7))
  expect(seqs(forwards(filesOn()))).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(seqs(backwards(filesOn()))).toEqual([7, 6, 5, 4, 3, 2, 1])
  expect(seqs(forwards(filesOn(), 5))).toEqual([4, 5, 6, 7])
  expect(seqs(backwards(filesOn(), 5)).at(-1)).toBe(1)
})
