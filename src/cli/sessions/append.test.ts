import { expect, test } from 'vitest'
import { readDataOption } from './append.ts'

test.each(['correct-horse', '{"key": correct-horse}', '[1, 2', '"correct-horse'])(
  'invalid JSON is refused without being quoted: %s',
  async (text) => {
    const error = await readDataOption(text).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'ARG_ERROR' })
    expect((error as Error).message).toMatch(/^--data is not JSON( at position \d+)?$/)
    expect((error as Error).cause).toBeUndefined()
  },
)
