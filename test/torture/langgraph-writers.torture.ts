import { expect, test } from 'vitest'
import { twoWriters } from '../support/langgraph-writers.ts'

test('two processes on one LangGraph thread: in 200 rounds exactly one stores the next checkpoint each time', async () => {
  expect(await twoWriters(200)).toBeUndefined()
})
