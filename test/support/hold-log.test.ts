import { expect, test } from 'vitest'
import { fenceFaults, overlapsOf, readHoldLog } from './hold-log.ts'

const lines = (...all: string[]): string => all.map((line) => `${line}\n`).join('')
const holdsOf = (...all: string[]) => readHoldLog(lines(...all)).holds

test('a hold lasts until it is left, or until its lease expires if that comes first', () => {
  expect(holdsOf('enter a 1 100 500', 'leave a 1 200', 'enter b 2 600 700', 'leave b 2 900')).toEqual([
    { session: 'a', fence: 1, enter: 100n, end: 200n, lasts: 500n },
    { session: 'b', fence: 2, enter: 600n, end: 700n, lasts: 700n },
  ])
})

test('a refresh extends a hold', () => {
  expect(holdsOf('enter a 1 100 200', 'fresh a 1 150 400', 'leave a 1 300')).toMatchObject([{ end: 300n }])
})

test('a killed holder held the lock until its death, as logged by itself or by its killer', () => {
  const entered = lines('enter a 1 100 500')
  expect(readHoldLog(`${entered}die - 0 150\n`).unfinished).toMatchObject([{ end: 150n }])
  expect(readHoldLog(entered, { killedAt: 160n }).unfinished).toMatchObject([{ end: 160n }])
  expect(readHoldLog(entered, { killedAt: 900n }).unfinished).toMatchObject([{ end: 500n }])
  expect(readHoldLog(entered).unfinished).toMatchObject([{ end: 500n }])
})

test('a torn line is ignored; an end without an entry is an error', () => {
  expect(readHoldLog('enter a 1 100 500\nenter b 2 1').holds).toHaveLength(1)
  expect(() => readHoldLog('leave a 1 100\n')).toThrow('without an entry')
})

test('an expired lease is a lapse; one that is lost before its time is a fault', () => {
  expect(readHoldLog(lines('enter a 1 100 200', 'lost a 1 300'))).toMatchObject({ lapses: 1, faults: [] })
  const early = lines('enter a 1 100 200', 'lost a 1 190')
  expect(readHoldLog(early).faults).toHaveLength(1)
  expect(readHoldLog(early, { slack: 10n }).faults).toEqual([])
})

test('a release that finds nothing counts if the lease was in force; so do other holders met while holding', () => {
  const log = readHoldLog(
    lines('enter a 1 100 200', 'double a b 110', 'leave a 1 120', 'unreleased a 1 130', 'enter c 2 300 400'),
  )
  expect(log).toMatchObject({ unheard: 1, doubles: ['a and b'] })
})

test('holds overlap if one begins before the other has ended, in any order of the log', () => {
  const first = 'enter a 1 100 500'
  const apart = holdsOf('enter b 2 200 500', 'leave b 2 300', first, 'leave a 1 200')
  expect(overlapsOf(apart)).toEqual([])
  const together = holdsOf('enter b 2 199 500', 'leave b 2 300', first, 'leave a 1 200')
  expect(overlapsOf(together)).toEqual(['a and b for 1 ns'])
  const within = holdsOf(first, 'enter b 2 150 500', 'leave b 2 160', 'enter c 3 170 500', 'leave c 3 180')
  expect(overlapsOf(within)).toHaveLength(2)
})

test('a lease that expired before its holder logged it overlaps no other', () => {
  const late = holdsOf('enter a 1 300 200', 'lost a 1 310', 'enter b 2 250 500', 'leave b 2 400')
  expect(overlapsOf(late)).toEqual([])
  expect(fenceFaults(late).faults).toEqual([])
})

test('fences must grow from hold to hold, and none may be granted twice', () => {
  const holds = holdsOf('enter a 3 100 500', 'leave a 3 110', 'enter b 4 120 500', 'leave b 4 130')
  expect(fenceFaults(holds, 2)).toEqual({ faults: [], highest: 4 })
  expect(fenceFaults(holds, 3).faults).toEqual(['a got fence 3 after 3'])
  const back = holdsOf('enter a 4 100 500', 'leave a 4 110', 'enter b 3 120 500', 'leave b 3 130')
  expect(fenceFaults(back).faults).toEqual(['b got fence 3 after 4'])
  const twice = holdsOf('enter a 4 100 500', 'leave a 4 110', 'enter b 4 120 500', 'leave b 4 130')
  expect(fenceFaults(twice).faults).toContain('a fence was granted twice')
})
