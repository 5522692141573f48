import { expect, test } from 'vitest'
import { treeOf } from './forks.ts'

const sessions = new Map([
  ['root', { title: 'the first', state: 'closed' as const }],
  ['copy', { state: 'active' as const }],
])

test('a session is shown with what it was forked from, and with all forks of that', () => {
  const origins = new Map([
    ['copy', { id: 'root', seq: 7 }],
    ['sibling', { id: 'root', seq: 3 }],
    ['grandchild', { id: 'copy', seq: 9 }],
    ['stranger', { id: 'elsewhere', seq: 1 }],
  ])
  const leaf = { title: null, state: null, forks: [] }
  expect(treeOf('copy', origins, sessions)).toEqual({
    session_id: 'root',
    title: 'the first',
    state: 'closed',
    at_seq: null,
    forks: [
      {
        session_id: 'copy',
        title: null,
        state: 'active',
        at_seq: 7,
        forks: [{ ...leaf, session_id: 'grandchild', at_seq: 9 }],
      },
      { ...leaf, session_id: 'sibling', at_seq: 3 },
    ],
  })
})

test('a session without forks is a tree of its own, and a forged ring ends', () => {
  expect(treeOf('root', new Map(), sessions)).toMatchObject({ session_id: 'root', forks: [] })
  const ring = new Map([
    ['a', { id: 'b', seq: 1 }],
    ['b', { id: 'a', seq: 1 }],
  ])
  expect(JSON.stringify(treeOf('a', ring, sessions)).length).toBeLessThan(300)
})
