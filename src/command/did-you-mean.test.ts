import { expect, test } from 'vitest'
import { closest } from './did-you-mean.ts'

test('a near miss is recognised, a far one is not', () => {
  expect(closest('tiemout', ['timeout', 'grace', 'json'])).toBe('timeout')
  expect(closest('rnu', ['lock', 'run'])).toBe('run')
  expect(closest('lst', ['show', 'list'])).toBe('list')
  expect(closest('xyz', ['timeout', 'grace', 'json'])).toBeUndefined()
  expect(closest('', [])).toBeUndefined()
})
