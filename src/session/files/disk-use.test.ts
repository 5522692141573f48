import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { du } from '../../../test/support/du.ts'
import { World } from '../../../test/support/world.ts'
import { SpaceCounter } from '../../base/fs/measure-tree.ts'
import { measureSession } from './disk-use.ts'

test('a session with many files is measured in steps, between which a signal is heard', async () => {
  await using world = new World()
  const session = join(world.tmp, 'ünder way')
  mkdirSync(join(session, 'blobs'), { recursive: true })
  for (let n = 0; n < 2000; n++) writeFileSync(join(session, 'blobs', String(n)), 'x')
  writeFileSync(join(session, 'journal.log'), 'line')
  const steps = measureSession(session, 'mine', new SpaceCounter())
  let count = 0
  let step = steps.next()
  for (; !step.done; step = steps.next()) count += 1
  expect(count).toBeGreaterThanOrEqual(7)
  const { bytes, disk_bytes, disk } = step.value
  expect([bytes, disk_bytes]).toEqual([2004, du(session)])
  expect(disk.journal).toBe(du(join(session, 'journal.log')))
  expect(disk.blobs).toBe(du(join(session, 'blobs')))
})
