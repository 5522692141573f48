import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { exactJson } from './exact-json.ts'

test('plain data, and what has toJSON, is encoded as JSON.stringify does', () => {
  class Point {
    x = 1
    hidden = undefined
  }
  const shared = { n: 1 }
  const values: unknown[] = [
    null,
    '',
    -0,
    1e300,
    '\u2028 \ud83d "\\',
    [],
    {},
    [[[]]],
    { a: undefined, b: [true, { c: '' }] },
    [shared, shared],
    new Date(0),
    { when: new Date(0), bytes: Buffer.from('ab') },
    new Point(),
    Object.assign(Object.create(null) as object, { a: 1 }),
    runInNewContext('({ a: [1, { b: 2 }] })'),
    { toJSON: (key: string) => `key ${key}` },
    { nested: { toJSON: (key: string) => `key ${key}` } },
  ]
  for (const value of values) expect(exactJson(value, 'data')).toBe(JSON.stringify(value))
})

test('the path names the part as a program would write it, without control characters', () => {
  const refusal = (value: unknown): string => {
    try {
      exactJson(value, 'data')
    } catch (error) {
      return (error as Error).message
    }
    return 'accepted'
  }
  expect(refusal({ a: [{ $b: Number.NaN }] })).toBe('data.a[0].$b is NaN, which JSON cannot keep')
  expect(refusal({ 'a\u001b[2J': 1n })).toMatch(/^data\["a.u001b\[2J"\] is a BigInt/)
  expect(refusal(runInNewContext('({ of: new Map() })'))).toMatch(/^data\.of is of the type Map/)
  expect(refusal(new Number(1))).toMatch(/^data is of the type Number/)
  const deep = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  expect(refusal(deep(2000))).toBe('accepted')
  expect(refusal(deep(100_000))).toMatch(/^data cannot be written as JSON: Maximum call stack/)
  // JSON of 600 MB is longer than a string can be.
  const large = Array.from({ length: 300 }).fill('x'.repeat(2e6))
  expect(refusal(large)).toMatch(/^data cannot be written as JSON: Invalid string length/)
})

test('a getter or toJSON that throws, throws its own error', () => {
  const failure = new Error('mine')
  const fail = (): never => {
    throw failure
  }
  expect(() => exactJson({ toJSON: fail }, 'data')).toThrow(failure)
})
