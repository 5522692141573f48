import { expect, test } from 'vitest'
import { twoWriters } from './support/langgraph-writers.ts'

test('of two processes on one LangGraph thread exactly one stores the next checkpoint, and the thread does not fork', async () => {
  expect(await twoWriters(6)).toBeUndefined()
})
