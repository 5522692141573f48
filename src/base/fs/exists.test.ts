import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { isRealDirectory, exists } from './exists.ts'

test('a link is there whatever it leads to, and is no directory; below a file there is nothing', async () => {
  await using world = new World()
  const at = (name: string): string => join(world.tmp, name)
  mkdirSync(at('directory'))
  writeFileSync(at('file'), '')
  symlinkSync(at('directory'), at('link'))
  symlinkSync(at('nowhere'), at('dangling'))
  const names = ['directory', 'file', 'link', 'dangling', 'nowhere', 'file/below', 'nowhere/below']
  expect(names.filter((name) => exists(at(name)))).toEqual(['directory', 'file', 'link', 'dangling'])
  expect(names.filter((name) => isRealDirectory(at(name)))).toEqual(['directory'])
})
