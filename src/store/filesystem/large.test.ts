import { expect, test } from 'vitest'
import { resumeLarge } from '../../../test/support/large-resume.ts'

test('a session of 200 MB is recovered in little memory, and resumed by reading its tail', async () => {
  await expect(resumeLarge(200e6)).resolves.toBeUndefined()
})
