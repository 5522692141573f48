import { expect, test } from 'vitest'
import { Access } from './access.ts'

test('a token gives the secret once', () => {
  const access = new Access()
  const token = access.issueToken(0)
  const secret = access.redeem(token, 1000)
  expect(access.allows(`Bearer ${secret}`)).toBe(true)
  expect(access.redeem(token, 1000)).toBeUndefined()
})

test('a token gives nothing after an hour, nor after 32 newer ones', () => {
  const access = new Access()
  const old = access.issueToken(0)
  expect(access.redeem(old, 3_600_001)).toBeUndefined()
  const [first, ...others] = Array.from({ length: 33 }, () => access.issueToken(0))
  expect(access.redeem(first ?? '', 0)).toBeUndefined()
  expect(others.map((token) => access.redeem(token, 0)).every((secret) => secret !== undefined)).toBe(true)
})

test('the secret of another run, a token, and anything else open nothing', () => {
  const access = new Access()
  const other = new Access()
  const secret = other.redeem(other.issueToken(0), 0)
  for (const given of [undefined, '', `Bearer ${secret}`, `Bearer ${access.issueToken(0)}`, 'Basic eDp5'])
    expect(access.allows(given)).toBe(false)
})
