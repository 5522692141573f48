import { expect, test } from 'vitest'
import { findClosest } from './parse-arguments.ts'

test('the closest word is suggested only if it is close enough', () => {
  expect(findClosest('tiemout', ['timeout', 'grace', 'json'])).toBe('timeout')
  expect(findClosest('rnu', ['lock', 'run'])).toBe('run')
  expect(findClosest('lst', ['show', 'list'])).toBe('list')
  expect(findClosest('xyz', ['timeout', 'grace', 'json'])).toBeUndefined()
  expect(findClosest('', [])).toBeUndefined()
})
