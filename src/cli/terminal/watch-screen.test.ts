import { expect, test } from 'vitest'
import { fitRows } from './watch-screen.ts'

test('the to-do list stays visible on a screen that is too small', () => {
  const body = ['a', 'b', 'c', 'd']
  expect(fitRows(body, ['todo'], 9)).toEqual(['a', 'b', 'c', 'd', 'todo'])
  expect(fitRows(body, ['todo'], 4)).toEqual(['a', 'b', '…', 'todo'])
  expect(fitRows(body, ['to', 'do'], 2)).toEqual(['…', 'to'])
})
