import { expect, test } from 'vitest'
import { resumeLarge } from '../support/large-resume.ts'

test('a session of 1 GB is recovered in little memory, and later resumes read only its tail', async () => {
  await expect(resumeLarge(1e9)).resolves.toBeUndefined()
})
