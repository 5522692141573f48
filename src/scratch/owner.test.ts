import { expect, test } from 'vitest'
import { parseOwner } from './owner.ts'

test('parseOwner returns undefined for any bytes that are not an owner record', () => {
  for (const text of [
    '',
    'null',
    '[]',
    '1',
    '"x"',
    '{}',
    '{"schema_version":2}',
    '{"schema_version":1,"request_id":"r"}',
    '\0',
  ]) {
    expect(parseOwner(text)).toBeUndefined()
  }
})
