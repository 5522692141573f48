import { expect, test } from 'vitest'
import { contextsContaining, parseContext } from './create-in.ts'

test('contexts nest by their directories; a line whose directory is outside the scratch is refused', () => {
  const line = (dir: string, name: string, file: string | null = null) =>
    parseContext(JSON.stringify({ dir, name, file }))
  const lines = [
    line('1-a', 'a', 'a.test.ts'),
    line('1-a/2-b', 'old'),
    line('1-a/2-b', 'a > b'),
    line('1-ab', 'other'),
  ].flatMap((each) => each ?? [])
  const namesOf = (inside: string) => contextsContaining(inside, lines).map(({ name }) => name)
  expect(namesOf('1-a/2-b/file')).toEqual(['a', 'a > b'])
  expect(namesOf('1-a')).toEqual(['a'])
  expect(namesOf('1-abc')).toEqual([])
  expect(namesOf('')).toEqual([])
  for (const dir of ['../x', '/etc', '', 'a//b', './a', 'a/..']) expect(line(dir, 'x')).toBeUndefined()
  expect(parseContext('{"dir":"a","name":7}')).toBeUndefined()
  expect(line('a', 'x\u001b[2Jy')?.name).toBe(String.raw`x\u001b[2Jy`)
})
