import { execFileSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { readSmallFile } from './regular-file.ts'

test('a small file is read only if it is one, and nothing else is waited for or followed', async () => {
  await using world = new World()
  const at = (name: string): string => join(world.tmp, name)
  writeFileSync(at('file'), 'ünïcode')
  writeFileSync(at('large'), Buffer.alloc((1 << 20) + 1))
  symlinkSync(at('file'), at('link'))
  execFileSync('mkfifo', [at('fifo')])
  expect(readSmallFile(at('file'))).toBe('ünïcode')
  for (const name of ['large', 'link', 'fifo', '.', 'missing', 'file/below'])
    for (const insist of [undefined, 'insist'] as const)
      expect(readSmallFile(at(name), insist), name).toBeUndefined()
})
