import { expect, test } from 'vitest'
import { twoSqliteWriters, twoWriters } from '../support/langgraph-writers.ts'

test('two processes on one LangGraph thread: in 200 rounds exactly one stores the next checkpoint each time', async () => {
  expect(await twoWriters(200)).toBeUndefined()
})

test('LangGraph’s own SQLite saver refuses neither of two processes, and the thread forks in every round', async () => {
  expect(await twoSqliteWriters(200)).toEqual({ refused: 0, forked: 200 })
})
