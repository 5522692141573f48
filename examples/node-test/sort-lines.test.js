import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { scratch } from 'stint/node-test'
import { sortLines } from './sort-lines.js'

test('sorts a file where it is', (t) => {
  const file = scratch(t).file('fruit.txt', 'pear\napple\n')
  sortLines(file)
  assert.equal(readFileSync(file, 'utf8'), 'apple\npear\n')
})

test('leaves its neighbours alone', (t) => {
  const other = scratch(t).file('other.txt', 'b\na\n')
  sortLines(scratch(t).file('fruit.txt', 'pear\n'))
  assert.equal(readFileSync(other, 'utf8'), 'b\na\n')
})
