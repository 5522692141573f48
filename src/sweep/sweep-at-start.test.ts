import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { takeTurnIfDue } from './sweep-at-start.ts'

test('a turn is taken once per interval, and a clock that was set back does not stop it', async () => {
  await using world = new World()
  const stamp = join(world.tmp, 'stamp')
  const at = 1_000_000_000_000
  expect([0, 59_999, 60_000, 60_001].map((later) => takeTurnIfDue(stamp, 60_000, at + later))).toEqual([
    true,
    false,
    true,
    false,
  ])
  utimesSync(stamp, at, at)
  expect([takeTurnIfDue(stamp, 60_000, at), takeTurnIfDue(stamp, 60_000, at)]).toEqual([true, false])
})

test('a stamp that cannot be written is an error, and no turn is taken', async () => {
  await using world = new World()
  const stamp = join(world.tmp, 'missing/stamp')
  expect(() => takeTurnIfDue(stamp, 60_000, Date.now())).toThrow('ENOENT')
  expect(existsSync(stamp)).toBe(false)
})
