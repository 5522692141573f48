import { expect, test } from 'vitest'
import { isCount, isNumber, isOptional, isRecord, isString, parseObject } from './fields.ts'

test('only a JSON object is parsed', () => {
  expect(parseObject('{"a":1}')).toEqual({ a: 1 })
  for (const line of ['', '{"a":', '1', '[]', 'null', '"text"', '\0'])
    expect(parseObject(line)).toBeUndefined()
})

test('a field is checked by type and range', () => {
  const values = [0, 7, -1, 1.5, Number.NaN, 2 ** 53, '', {}, [], null, undefined]
  expect(values.filter(isCount)).toEqual([0, 7])
  expect(values.filter(isNumber)).toEqual([0, 7, -1, 1.5, 2 ** 53])
  expect(values.filter(isString)).toEqual([''])
  expect(values.filter(isRecord)).toEqual([{}])
  expect(values.filter((value) => isOptional(value, isString))).toEqual(['', undefined])
})
