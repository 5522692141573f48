import { expect, test } from 'vitest'
import { useManySessions } from '../support/session-uses.ts'

test('10,000 sessions are used in one process that may open 256 files', async () => {
  await expect(useManySessions(10_000, 12_000)).resolves.toBeUndefined()
})
