import fc from 'fast-check'
import { expect, test } from 'vitest'
import { at, empty, granted, minute, wants } from '../../test/support/claim-samples.ts'
import { parseClaimsRecord, formatClaimsRecord } from './claim-record.ts'
import { isInForce } from './claim-status.ts'

test('a record is parsed back as it was formatted, and the parser accepts any string without throwing', () => {
  const by = { writer: '2i8g0.zzzzz', count: 1295 }
  const held = granted(
    granted(empty, wants('a', { call: 'x', paths: ['y'] }), at(0)),
    wants('b', { paths: ['x'], mode: 'shared', holder: null, parent: 'c', origin: { terminal: 'pts/3' } }),
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
