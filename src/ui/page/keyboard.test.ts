import { expect, test } from 'vitest'
import { commandOf } from './keyboard.ts'
import { pages } from './route.ts'

test('g and a letter go to each page, and no two pages share a letter', () => {
  expect(commandOf('g', false)).toEqual({ do: 'wait-for-letter' })
  for (const { key, name } of pages) expect(commandOf(key, true)).toEqual({ do: 'go', page: name })
  expect(new Set(pages.map(({ key }) => key)).size).toBe(pages.length)
})

test('single keys step, search and help; a letter without g goes nowhere', () => {
  expect(commandOf('j', false)).toEqual({ do: 'step', by: 1 })
  expect(commandOf('k', false)).toEqual({ do: 'step', by: -1 })
  expect(commandOf('/', false)).toEqual({ do: 'search' })
  expect(commandOf('?', true)).toEqual({ do: 'help' })
  expect(commandOf('n', false)).toEqual({ do: 'none' })
})
