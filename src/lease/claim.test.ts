import fc from 'fast-check'
import { expect, test } from 'vitest'
import { at, empty, granted, identity, minute, only, wants } from '../../test/support/claim-samples.ts'
import { type Claim, parseClaimsRecord } from './claim.ts'
import { isInForce } from './force.ts'

test('a record is parsed back as it was formatted', () => {
  const held = granted(
    granted(empty, wants('a', { paths: ['y'], purpose: 'testing' }), at(0)),
    wants('b', { paths: ['x'], mode: 'shared', holder: null, parent: 'a' }),
    at(minute),
  )
  for (const record of [empty, held, { ...held, last: 'a' }])
    expect(parseClaimsRecord(JSON.stringify(record))).toEqual(record)
})

test('everything that is known about a session is parsed back', () => {
  const claim: Claim = {
    ...only(granted(empty, wants('a'), at(0))),
    narrowed: true,
    ticks: 6,
    ends: 12,
    ancestors: ['p'],
    holders: [identity(97), identity(98)],
    origin: {
      agent: 'Claude Code',
      terminal: 'pts/3',
      tmux_pane: '%5',
      hostname: 'box',
      user: 'ada',
      directory: '/w',
      prompt: 'tidy up',
      command: 'lock acquire',
      transcript: { path: '/t', size: 7 },
      variable: 'NAME=a',
      shared_process: true,
    },
  }
  const breaks = [{ session_id: 'b', fence: 3, by: 'ada', reason: 'hung', at: 5 }]
  const record = { ...empty, claims: [claim], breaks }
  expect(parseClaimsRecord(JSON.stringify(record))).toEqual(record)
})

test('the parser accepts any string, and no claim of a damaged record lasts for ever', () => {
  const anyRecord = fc
    .record({ session_id: fc.string(), clock: fc.string(), paths: fc.anything(), holders: fc.anything() })
    .chain((claim) =>
      fc
        .record({
          fence: fc.nat(),
          acquired_at: fc.double(),
          until: fc.double(),
          until_wall: fc.double(),
          ends: fc.anything(),
        })
        .map((times) => ({ ...claim, ...times })),
    )
    .map((claim) => JSON.stringify({ schema_version: 2, workspace: 'w', claims: [claim] }))
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), anyRecord), (text) => {
      for (const claim of parseClaimsRecord(text)?.claims ?? [])
        expect(isInForce(claim, at(Number.MAX_SAFE_INTEGER))).toBe(false)
    }),
  )
})

test.each([
  ['an empty file, as after a power cut', ''],
  ['half a record', '{"schema_version":2,"worksp'],
  ['a record of another version', '{"schema_version":1,"workspace":"/w","claims":[]}'],
  ['a record without a workspace', '{"schema_version":2,"claims":[]}'],
])('%s is no record', (_what, text) => {
  expect(parseClaimsRecord(text)).toBeUndefined()
})
