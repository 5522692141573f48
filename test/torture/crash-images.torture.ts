import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/files/driver.ts'
import { buildNoSync } from '../support/build-c.ts'
import { CrashImage } from '../support/crash-image.ts'
import { startWorker, StormedSession } from '../support/killed-sessions.ts'
import { World } from '../support/world.ts'

/** Cuts the power of a disk under load so many times, and looks at all sessions after each; returns all that is wrong. */
async function cutPower(world: World, rounds: number, wrapped: string[] = []): Promise<string[]> {
  const image = await CrashImage.make(world, '192M')
  const sessions = Array.from({ length: 4 }, (_, n) => new StormedSession(`storm-${n}`))
  const faults: string[] = []
  for (let round = 0; round < rounds; round++) {
    let cut: Promise<bigint> | undefined
    const cutOnce = (): Promise<bigint> => (cut ??= image.cutPower())
    // Two at once: what one syncs drags along, or leaves behind, what the other writes.
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

test('an ext4 under load loses its power 50 times: nothing that writers were told is safe is lost, and every session resumes', async () => {
  await using world = new World()
  expect(await cutPower(world, 50)).toEqual([])
})

test('the same, where syncs do nothing, loses much', async () => {
  await using world = new World()
  expect(await cutPower(world, 10, ['env', `LD_PRELOAD=${buildNoSync(world.tmp)}`])).not.toEqual([])
})
