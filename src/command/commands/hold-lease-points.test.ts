import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../../test/support/point-world.ts'
import { stintBin, until } from '../../../test/support/world.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const runIn = (session: string, script: string, ...options: string[]) =>
  world.startStint(['run', '--lock', '--session', session, ...options, '--', 'sh', '-c', script], {
    cwd: world.repo,
  })

interface ListedSet {
  kind: string
  session_id: string | null
  end: string
  complete: boolean
  files: { path: string }[]
}

async function changes(): Promise<string[]> {
  const { data } = (await world.stint(['changes'], { cwd: world.repo })).envelope()
  return (data as { sets: ListedSet[] }).sets.map(
    ({ kind, session_id, end, complete, files }) =>
      `${kind} ${session_id ?? '-'} ${end} ${complete} ${files.map(({ path }) => path).join(',')}`,
  )
}

test('what a program starts under the lock of another counts for that other one', async () => {
  const inner = `'${process.execPath}' '${stintBin}' run --lock --session inner -- sh -c 'echo B > b.txt'`
  const { code } = await runIn('outer', `echo A > a.txt; ${inner}; echo C > c.txt`).finished
  expect(code).toBe(0)
  expect(await changes()).toEqual(['turn outer seen true a.txt,b.txt,c.txt'])
})

test('what happened after the death of a session counts as outside, also for the next session', async () => {
  const run = runIn('first', 'echo A > a.txt; touch ready; exec sleep 1000')
  await until('it has worked', () => existsSync(join(world.repo, 'ready')))
  process.kill(-run.pid, 'SIGKILL')
  await run.finished
  world.afterTick()
  world.write({ 'b.txt': 'by a person\n' })
  expect((await runIn('second', 'echo C > c.txt').finished).code).toBe(0)
  // Files that the dead session wrote after its last heartbeat are in the outside row, too.
  const [outside, ...turns] = await changes()
  expect(outside).toMatch(/^outside - seen true .*b\.txt/)
  expect(turns.join()).not.toContain('b.txt')
  expect(turns.at(-1)).toBe('turn second seen true c.txt')
})

test('--no-undo takes no restore point', async () => {
  expect((await runIn('first', 'echo A > a.txt', '--no-undo').finished).code).toBe(0)
  expect(existsSync(join(world.env.STINT_HOME ?? '', 'points'))).toBe(false)
})
