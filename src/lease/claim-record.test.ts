import fc from 'fast-check'
import { expect, test } from 'vitest'
import { at, empty, granted, identity, minute, only, wants } from '../../test/support/claim-samples.ts'
import { type Claim, parseClaimsRecord, formatClaimsRecord } from './claim-record.ts'
import { isInForce } from './claim-status.ts'

test('a record is parsed back as it was formatted, and the parser accepts any string without throwing', () => {
  const by = { writer: '2i8g0.zzzzz', count: 1295 }
  const held = granted(
    granted(empty, wants('a', { call: { id: 'x' }, paths: ['y'] }), at(0)),
    wants('b', {
      paths: ['x'],
      mode: 'shared',
      holder: null,
      parent: 'a',
      origin: () => ({ terminal: 'pts/3' }),
    }),
    at(6 * minute),
  )
  expect(parseClaimsRecord(formatClaimsRecord(held, by), '/other')).toEqual(held)
  const one = granted(empty, wants('a', { paths: ['y'] }), at(0))
  const refreshed = granted(one, wants('a', { paths: ['z'] }), at(2 * minute))
  for (const claims of [one, refreshed]) {
    const text = formatClaimsRecord(claims, by)
    expect(parseClaimsRecord(text, '/other')).toEqual(claims)
    expect(text.indexOf('\n')).toBeLessThan(37)
  }
  expect(parseClaimsRecord(formatClaimsRecord(empty, by), '/w')).toEqual(empty)
  expect(formatClaimsRecord({ ...empty, generation: 12, boot: '01234567' }, by).length).toBeLessThan(60)
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc
          .anything()
          .map((value) => JSON.stringify({ schema_version: 1, workspace: 'w', claims: [value] }) ?? ''),
        fc
          .tuple(fc.string(), fc.anything())
          .map(([line, value]) => `${line}\n${JSON.stringify({ schema_version: 1, claims: [value] }) ?? ''}`),
      ),
      (text) => {
        const claims = parseClaimsRecord(text, '/w')
        for (const claim of claims?.claims ?? [])
          expect(isInForce(claim, at(Number.MAX_SAFE_INTEGER))).toBe(false)
      },
    ),
  )
})

test('everything that is known about the work of a session is parsed back', () => {
  const claim: Claim = {
    ...only(granted(empty, wants('a'), at(0))),
    ticks: 6,
    policy: { prompt_hold_ms: 1, background_ms: 0, mark: 'NAME=a', shared_process: true },
    background: [{ pid: 7, started: 3, name: 'vite', since: 9 }],
    turn_ended: true,
    dead_since: 10,
    holders: [
      {
        ...identity(97),
        calls: [{ id: 'x', since: 4, kind: 'command', name: 'make', ticks: 7, waiting_since: 5 }],
      },
    ],
  }
  const record = { ...empty, claims: [claim] }
  expect(parseClaimsRecord(formatClaimsRecord(record, { writer: 'w', count: 1 }), '')).toEqual(record)
})
