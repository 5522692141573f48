import { expect, test } from 'vitest'
import type { ActRow, EventRow } from '../server/protocol.ts'
import { eventText, rowsOf } from './timeline.tsx'

const event = (seq: number, at: number): EventRow => ({ seq, at, type: 'message', data: {} })
const act = (seq: number, at: number): ActRow => ({
  seq,
  act: `act_${seq}`,
  at,
  type: 'act',
  action: 'shell',
  subject: null,
  key: null,
  outcome: null,
  detail: null,
})

const namesOf = (events: EventRow[], acts: ActRow[]): (number | string)[] =>
  rowsOf({ events, acts }).map((row) => ('action' in row ? `a${row.seq}` : row.seq))

test('acts stand among the events of their time, newest first', () => {
  expect(namesOf([event(1, 10), event(2, 30)], [act(1, 5), act(2, 20), act(3, 40)])).toEqual([
    'a3',
    2,
    'a2',
    1,
    'a1',
  ])
  expect(namesOf([], [act(1, 5), act(2, 20)])).toEqual(['a2', 'a1'])
})

test('events keep their order even if the clock was set back', () => {
  expect(namesOf([event(1, 100), event(2, 50), event(3, 60)], [])).toEqual([3, 2, 1])
})

test('an event is told by the field that says most, or by its JSON', () => {
  expect(eventText({ id: 7, text: 'order 7 is priced' })).toBe('order 7 is priced')
  expect(eventText({ id: 7 })).toBe('{"id":7}')
  expect([eventText('plain'), eventText(undefined), eventText(7)]).toEqual(['plain', '', '7'])
})
