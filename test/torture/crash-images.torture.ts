import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/files/medium.ts'
import { buildNoSync } from '../support/build-c.ts'
import { CrashImage } from '../support/crash-image.ts'
import { startWorker, StormedSession } from '../support/killed-sessions.ts'
import { World } from '../support/world.ts'

/**
 * Cuts the power of a disk under load this many times, checks all sessions after each, and returns all
 * faults.
 */
async function cutPower(world: World, rounds: number, wrapped: string[] = []): Promise<string[]> {
  const image = await CrashImage.make(world, '192M')
  const sessions = Array.from({ length: 4 }, (_, n) => new StormedSession(`storm-${n}`))
  const faults: string[] = []
  for (let round = 0; round < rounds; round++) {
    let cut: Promise<bigint> | undefined
    const cutOnce = (): Promise<bigint> => (cut ??= image.cutPower())
    // Two writers at once: the syncs of one affect what is on disk of the other.
    const stormed = sessions.filter((_, n) => n === round % 4 || n === (round + 1) % 4)
    const within = [...image.within, ...wrapped]
    await Promise.all(
      stormed.map((session) => session.storm(startWorker(world, image.home, within), cutOnce)),
    )
    await image.comeBack()
    const store = filesystemStore({ home: image.homeFromOutside })
    for (const [i, session] of sessions.entries()) {
      if (!session.isThere) continue
      const found = await session
        .faults(store, (round + i) % 3 === 0)
        .catch((error: Error) => [`${error.name}: ${error.message}`])
      faults.push(...found.map((what) => `round ${round}, ${session.id}: ${what}`))
    }
    if (wrapped.length > 0 && faults.length > 0) break
  }
  console.log(`${sessions.reduce((sum, { safe }) => sum + safe.size, 0)} acknowledgements heard`)
  return faults
}

test('50 power cuts of an ext4 under load lose nothing acknowledged, and every session resumes', async () => {
  await using world = new World()
  expect(await cutPower(world, 50)).toEqual([])
})

test('power cuts of an ext4 whose syncs do nothing lose acknowledged records', async () => {
  await using world = new World()
  expect(await cutPower(world, 10, ['env', `LD_PRELOAD=${buildNoSync(world.tmp)}`])).not.toEqual([])
})
