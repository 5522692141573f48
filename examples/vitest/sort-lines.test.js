import { readFileSync } from 'node:fs'
import { test } from 'stint/vitest'
import { describe, expect } from 'vitest'
import { sortLines } from './sort-lines.js'

describe('sortLines', () => {
  test('sorts a file where it is', ({ scratch }) => {
    const file = scratch.file('fruit.txt', 'pear\napple\n')
    sortLines(file)
    expect(readFileSync(file, 'utf8')).toBe('apple\npear\n')
  })

  test('leaves its neighbours alone', ({ scratch }) => {
    const other = scratch.file('other.txt', 'b\na\n')
    sortLines(scratch.file('fruit.txt', 'pear\n'))
    expect(readFileSync(other, 'utf8')).toBe('b\na\n')
  })
})
