import { join } from 'node:path'
import { expect } from 'vitest'
import { filesystemStore } from '../../src/session/files/medium.ts'
import { projectRoot, World } from './world.ts'

/**
 * Uses so many sessions in one process that may open 256 files. The process just ends; every session must be
 * closed by then, with each use recorded once.
 */
export async function useManySessions(sessions: number, uses: number): Promise<void> {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const program = join(projectRoot, 'test/fixtures/session-uses.mjs')
  const limited = 'ulimit -n 256 && exec "$@"'
  const args = ['-c', limited, 'sh', process.execPath, program, home, 'one', `${sessions}`, `${uses}`]
  expect(await world.start('sh', args).finished).toMatchObject({ code: 0, stderr: '' })
  const listed = await filesystemStore({ home }).list()
  expect(listed).toHaveLength(sessions)
  expect(listed.filter(({ state }) => state !== 'closed')).toEqual([])
  expect(listed.reduce((sum, { records }) => sum + records, 0)).toBe(uses)
}
