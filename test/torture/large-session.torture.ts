import { test } from 'vitest'
import { resumeLarge } from '../support/large-resume.ts'

test('a session of 1 GB is recovered in little memory, and resumed by reading its tail', () =>
  resumeLarge(1e9))
