import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { directoriesOf, grow } from '../../test/support/grow.ts'
import { attackedSweeps } from '../../test/support/attacked-sweeps.ts'
import { deadPid, plant } from '../../test/support/plant.ts'
import { sweptRuns } from '../../test/support/swept-runs.ts'
import { projectRoot, World } from '../../test/support/world.ts'
import { newRequestId } from '../base/text/id.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { openRoot } from '../scratch/root.ts'
import { sweep } from './sweep.ts'

// test/torture/sweep.torture.ts repeats these tests at full size.

test('one sweep removes everything that 12 killed runs left, and no byte of 2 living runs', async () => {
  const report = await sweptRuns({ runs: 12, ofCli: 2, live: 2, atOnce: 6 })
  expect(report).toMatchObject({ leftovers: [], untouched: true, live: 2 })
  expect(report.swept).toBeGreaterThan(2)
})

test('runs that start and stop tracking paths at the same time do not disturb each other', async () => {
  await using world = new World()
  const program = `
    import { createScratch } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    for (let i = 0; i < 100; i++) {
      const scratch = createScratch()
      scratch.track(process.argv[1] + '/' + process.pid)
      scratch.remove()
    }`
  const runs = Array.from({ length: 4 }, () =>
    world.start(process.execPath, ['--input-type=module', '-e', program, world.tmp]),
  )
  for (const { finished } of runs) expect(await finished).toMatchObject({ code: 0, stderr: '' })
  expect(world.leftovers()).toEqual([])
})

test('one sweep removes 2,000 files in one scratch, and a tree 4 levels deep and 3 wide', async () => {
  await using world = new World()
  const [files, tree] = [plant(world, dead()), plant(world, dead())]
  for (let i = 0; i < 2000; i++) writeFileSync(join(files, `file-${i}`), '1')
  const entries = grow(join(tree, 'tree'), 4, 3)
  expect(entries).toBe(2 * directoriesOf(4, 3))
  const progress: { done: number; total: number }[] = []
  const report = await sweep({
    root: openRoot({ STINT_TMP_ROOT: world.tmp }),
    onProgress: ({ done, total }) => progress.push({ done, total }),
  })
  expect(report).toMatchObject({ failures: [], complete: true })
  expect(report.removed.map(({ path }) => path).sort()).toEqual([files, tree].sort())
  // A planted scratch has 4 entries: itself, `.stint`, the record of its children and a file.
  expect(report.entriesRemoved).toBe(2000 + entries + 2 * 4)
  expect(world.leftovers()).toEqual([])
  expect(progress.at(-1)).toEqual({ done: 2, total: 2 })
  expect(progress).toEqual(progress.toSorted((a, b) => a.done - b.done))
})

test('`grow` refuses a tree that would be too large before it makes the first directory', async () => {
  await using world = new World()
  expect(() => grow(join(world.tmp, 'tree'), 20, 4)).toThrow('too many')
  expect(existsSync(join(world.tmp, 'tree'))).toBe(false)
})

test('an attacker who swaps directories for links during a sweep cannot lead it out of its root', async () => {
  const report = await attackedSweeps({ rounds: 15, swaps: 20 })
  expect(report).toMatchObject({ outsideIsSame: true, crashes: [], leftovers: [] })
  expect(report.removed).toBeGreaterThan(0)
})

test.each(['trash', 'out'])(
  'a link in place of %s is an error, and nothing behind it is removed',
  async (name) => {
    await using world = new World()
    const outside = join(world.tmp, 'outside')
    for (const inside of [newRequestId(), `${newRequestId()}-1`])
      mkdirSync(join(outside, inside), { recursive: true })
    mkdirSync(world.root, { mode: 0o700 })
    symlinkSync(outside, join(world.root, name))
    for (const flags of [[], ['--dry-run']])
      expect((await world.stint(['sweep', '--json', ...flags])).envelope()).toMatchObject({
        error: { code: 'TEMP_DIR_UNSAFE' },
      })
    expect(readdirSync(outside)).toHaveLength(2)
  },
)

const dead = () => ({ ...ownIdentity(), pid: deadPid })
