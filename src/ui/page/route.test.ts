import { expect, test } from 'vitest'
import { linkTo, parseRoute } from './route.ts'

test('an address leads to its page, and the link to a page is that address', () => {
  const link = linkTo('sessions', 'ses_01/ä%', { at: '7', view: '' })
  expect(link).toBe('#/sessions/ses_01%2F%C3%A4%25?at=7')
  expect(parseRoute(link)).toEqual({ page: 'sessions', id: 'ses_01/ä%', query: { at: '7' } })
  expect(parseRoute('#/workspaces')).toEqual({ page: 'workspaces', query: {} })
})

test('an address that leads nowhere shows the first page', () => {
  for (const fragment of ['', '#', '#/', '#/nowhere/7', '#token=abc', '#/__proto__'])
    expect(parseRoute(fragment)).toEqual({ page: 'now', query: {} })
})

test('a broken escape in an address stands for itself', () => {
  expect(parseRoute('#/sessions/100%')).toMatchObject({ id: '100%' })
})
