import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { readLastLines, readSmallFile } from './regular-file.ts'

test('only a small regular file is read; a link is not followed, and a FIFO does not block', async () => {
  await using world = new World()
  const at = (name: string): string => join(world.tmp, name)
  writeFileSync(at('file'), 'ünïcode')
  writeFileSync(at('large'), Buffer.alloc((1 << 20) + 1))
  symlinkSync(at('file'), at('link'))
  execFileSync('mkfifo', [at('fifo')])
  expect(readSmallFile(at('file'))).toBe('ünïcode')
  for (const name of ['large', 'link', 'fifo', '.', 'missing', 'file/below'])
    for (const onError of [undefined, 'throwOnError'] as const)
      expect(readSmallFile(at(name), onError), name).toBeUndefined()
})

test('only complete lines at the end of a regular file are read', async () => {
  await using world = new World()
  const file = join(world.tmp, 'lines')
  writeFileSync(file, 'one\ntwo\nthrée\nto')
  symlinkSync(file, join(world.tmp, 'link'))
  execFileSync('mkfifo', [join(world.tmp, 'fifo')])
  expect(readLastLines(file)).toEqual(['one', 'two', 'thrée'])
  expect(readLastLines(file, 13)).toEqual(['two', 'thrée'])
  expect(readLastLines(file, 12)).toEqual(['thrée'])
  for (const name of ['link', 'fifo', 'missing', '.'])
    expect(readLastLines(join(world.tmp, name))).toEqual([])
})
