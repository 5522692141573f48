import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'

/** Two directories outside of repositories, one with a directory in it. */
class OutsideWorld extends LockWorld {
  readonly notes = join(this.tmp, 'notes')
  readonly deep = join(this.notes, 'deep')
  readonly plans = join(this.tmp, 'plans')

  constructor() {
    super()
    for (const path of [this.deep, this.plans]) mkdirSync(path, { recursive: true })
  }
}

test('outside of repositories, a claim on a directory includes those below it, and no others', async () => {
  await using world = new OutsideWorld()
  const acquire = (session: string, directory: string) =>
    world.lock(['acquire', '--session', session], directory)
  expect((await acquire('one', world.notes)).code).toBe(0)
  const below = await acquire('two', world.deep)
  expect([below.code, errorOf(below)?.message]).toEqual([
    4,
    expect.stringMatching(`^${world.deep} is held by one`),
  ])
  expect(errorOf(below)?.suggestion).toContain(`Held: ${world.notes}, `)
  expect((await acquire('two', world.tmp)).code).toBe(4)
  expect((await acquire('two', world.plans)).code).toBe(0)
  expect((await acquire('two', world.workspace)).code).toBe(0)
})

test('outside of repositories, each command sees the claims at, above and below its directory', async () => {
  await using world = new OutsideWorld()
  for (const directory of [world.notes, world.plans])
    expect((await world.lock(['acquire', '--session', 'mine'], directory)).code).toBe(0)
  const sessions = async (directory: string) =>
    (dataOf(await world.lock(['status'], directory)).claims as { paths: string[] }[]).map(
      ({ paths }) => paths,
    )
  expect(await sessions(world.notes)).toEqual([[world.notes]])
  expect(await sessions(world.deep)).toEqual([[world.notes]])
  expect(await sessions(world.tmp)).toEqual([[world.notes], [world.plans]])
  const all = dataOf(await world.lock(['status', '--all'])) as { workspaces: { workspace: string }[] }
  expect(all.workspaces.map(({ workspace }) => workspace)).toEqual([world.notes, world.plans])
  const shown = await world.stint(['lock', 'status'], { cwd: world.notes, env: { STINT_OUTPUT: 'text' } })
  expect(shown.stdout).toMatch(/^\S+\/notes\n {2}mine {2}held for \d+s, /)

  expect(dataOf(await world.lock(['release', '--session', 'mine'], world.notes))).toMatchObject({
    released: true,
  })
  expect(await sessions(world.notes)).toEqual([])
  expect(await sessions(world.plans)).toEqual([[world.plans]])
  const kinds = async (directory: string) =>
    (dataOf(await world.lock(['history'], directory)).activities as { kind: string }[]).map(
      ({ kind }) => kind,
    )
  expect(await kinds(world.notes)).toEqual(['grant', 'release'])
  expect(await kinds(world.plans)).toEqual(['grant'])
})
