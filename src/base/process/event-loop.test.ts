import { expect, test } from 'vitest'
import { runInTurns } from './event-loop.ts'

test('an operation in turns that is aborted ends with the reason, and gives back what it has open', async () => {
  const interruption = new AbortController()
  let isOpen = true
  function* operation(): Generator<void, string> {
    try {
      yield
      interruption.abort(new Error('interrupted'))
      yield
      return 'done'
    } finally {
      isOpen = false
    }
  }
  await expect(runInTurns(operation(), () => interruption.signal.throwIfAborted())).rejects.toThrow(
    'interrupted',
  )
  expect(isOpen).toBe(false)
})
