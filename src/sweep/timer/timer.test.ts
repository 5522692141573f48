import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { applySteps } from './timer.ts'

test('if a step fails, the files are restored as far as possible, and the error is that of the step', async () => {
  await using world = new World()
  const [fresh, changed, stuck] = ['fresh', 'changed', 'stuck'].map((name) => join(world.tmp, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(changed, 'old')
  // The script replaces the written file by a directory, so that it cannot be removed.
  const script = `rm '${stuck}' && mkdir '${stuck}' && echo refused >&2; exit 1`
  const steps = [
    { write: fresh, text: 'x', before: undefined },
    { write: changed, text: 'new', before: 'old' },
    { write: stuck, text: 'x', before: undefined },
    { run: ['sh', '-c', script] },
  ]
  expect(() => applySteps(steps)).toThrow('refused')
  expect([existsSync(fresh), readFileSync(changed, 'utf8')]).toEqual([false, 'old'])
})

test('writing a file makes its directories, and removing a missing file is no error', async () => {
  await using world = new World()
  const path = join(world.tmp, 'a/b/unit')
  applySteps([{ write: path, text: 'x', before: undefined }])
  expect(readFileSync(path, 'utf8')).toBe('x')
  mkdirSync(join(world.tmp, 'empty'))
  applySteps([{ remove: path }, { remove: join(world.tmp, 'empty/none') }])
  expect(existsSync(path)).toBe(false)
})
