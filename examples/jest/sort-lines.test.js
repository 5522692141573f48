const { readFileSync } = require('node:fs')
const { scratch } = require('stint/jest')
const { sortLines } = require('./sort-lines.js')

describe('sortLines', () => {
  test('sorts a file where it is', () => {
    const file = scratch().file('fruit.txt', 'pear\napple\n')
    sortLines(file)
    expect(readFileSync(file, 'utf8')).toBe('apple\npear\n')
  })

  test('leaves its neighbours alone', () => {
    const other = scratch().file('other.txt', 'b\na\n')
    sortLines(scratch().file('fruit.txt', 'pear\n'))
    expect(readFileSync(other, 'utf8')).toBe('b\na\n')
  })
})
