import { expect, test } from 'vitest'
import { resumeLarge } from '../../../test/support/large-resume.ts'
import { makeLargeSession } from '../../../test/support/large-session.ts'
import { repairFiles } from '../../../test/support/repair-files.ts'
import { FilesMedium } from './medium.ts'
import { SessionWorld } from '../../../test/support/session-world.ts'

test('a session of 200 MB is recovered in little memory, and later resumes read only its tail', async () => {
  await expect(resumeLarge(200e6)).resolves.toBeUndefined()
})

const operations: Record<string, (world: SessionWorld, id: string) => Promise<unknown>> = {
  'verifying it': async ({ store }, id) => (await store.inspect(id)).health(),
  'forking it at an early record': ({ store }, id) => store.fork(id, { at: 20 }),
  async 'repairing it'(world, id) {
    world.damage(id, 3)
    const { journal } = await repairFiles(new FilesMedium(world), id, false)
    expect(journal.missing).toEqual([{ from: 3, to: 3 }])
  },
}

test.each(Object.keys(operations))(
  '%s lets the event loop run again and again, although the session is large',
  async (operation) => {
    await using world = new SessionWorld()
    const { id } = await makeLargeSession(world.home, 16e6)
    await (await world.store.resume(id)).close()
    let [turns, done] = [0, false]
    const next = (): void => {
      turns += 1
      if (!done) setImmediate(next)
    }
    setImmediate(next)
    await operations[operation]?.(world, id)
    done = true
    expect(turns).toBeGreaterThan(10)
  },
)
