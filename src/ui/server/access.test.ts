import { expect, test } from 'vitest'
import { Access } from './access.ts'

test('a token gives the secret once', () => {
  const access = new Access()
  const token = access.issueToken(0)
  const secret = access.redeem(token, 1000)
  expect(access.allows(`Bearer ${secret}`)).toBe(true)
  expect(access.redeem(token, 1000)).toBeUndefined()
})

test('a token gives nothing after an hour', () => {
  const access = new Access()
  expect(access.redeem(access.issueToken(0), 3_600_000)).toEqual(expect.any(String))
  expect(access.redeem(access.issueToken(0), 3_600_001)).toBeUndefined()
})

test('the secret of another run, a token, and anything else open nothing', () => {
  const access = new Access()
  const other = new Access()
  const secret = other.redeem(other.issueToken(0), 0)
  for (const given of [undefined, '', `Bearer ${secret}`, `Bearer ${access.issueToken(0)}`, 'Basic eDp5'])
    expect(access.allows(given)).toBe(false)
})
