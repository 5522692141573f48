import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startHandler as handle } from '../../test/support/handlers.ts'
import { type Running, until, World } from '../../test/support/world.ts'

const heard = ({ output }: Running, signal: string): number =>
  output().stderr.split(`heard ${signal}\n`).length - 1

/** Starts a handler and stops it once; its cleanup then goes on until there is a file `go`. */
async function startSlowCleanup(world: World, signal: 'SIGTERM' | 'SIGINT'): Promise<Running> {
  const running = handle(world, 'slow-cleanup', world.tmp, '--grace', '10m')
  await until('the handler runs', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill(signal)
  await until('the cleanup has begun', () => running.output().stderr.includes('cleaning\n'))
  return running
}

test('a second SIGTERM during a slow cleanup changes nothing: the cleanup is finished, with one envelope', async () => {
  await using world = new World()
  const running = await startSlowCleanup(world, 'SIGTERM')
  running.child.kill('SIGTERM')
  await until('it has received both', () => heard(running, 'SIGTERM') === 2)
  expect(world.leftovers()).toHaveLength(1)
  writeFileSync(join(world.tmp, 'go'), '')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope()).toMatchObject({ error: { code: 'CANCELLED', signal: 'SIGTERM' }, warnings: [] })
  expect(world.leftovers()).toEqual([])
})

test('a second SIGINT during a slow cleanup ends the run at once, with one envelope and no scratch in the root', async () => {
  await using world = new World()
  const running = await startSlowCleanup(world, 'SIGINT')
  running.child.kill('SIGINT')
  const result = await running.finished
  expect(result.code).toBe(130)
  expect(result.envelope()).toMatchObject({
    error: { code: 'CANCELLED', signal: 'SIGINT' },
    meta: { partial: true },
  })
  expect(world.leftovers()).toEqual([])
  await world.stint(['sweep'])
  expect(readdirSync(join(world.root, 'trash')).filter((name) => name !== '.swept')).toEqual([])
})

test('a hook that takes longer than the grace is abandoned with a warning', async () => {
  await using world = new World()
  const running = handle(world, 'slow-cleanup', world.tmp, '--grace', '100ms')
  await until('the handler runs', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill('SIGTERM')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope().warnings).toEqual(['CLEANUP_FAILED: a cleanup hook took longer than 100ms'])
  expect(world.leftovers()).toEqual([])
})

test('a handler that listens to its signal can finish, with its scratch, before the run ends', async () => {
  await using world = new World()
  const running = handle(world, 'listen-to-signal', world.tmp)
  await until('the handler runs', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill('SIGTERM')
  const result = await running.finished
  expect(result.code).toBe(143)
  expect(result.envelope().error?.code).toBe('CANCELLED')
  expect(readFileSync(join(world.tmp, 'finished'), 'utf8')).toBe('CANCELLED true')
  expect(world.leftovers()).toEqual([])
})

test('a signal that is first read during the teardown has aborted', async () => {
  await using world = new World()
  const running = handle(world, 'late-signal', world.tmp)
  await until('the handler runs', () => existsSync(join(world.tmp, 'ready')))
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(readFileSync(join(world.tmp, 'aborted'), 'utf8')).toBe('true')
})
