import { expect, test } from 'vitest'
import { resumeLarge } from '../../../test/support/large-resume.ts'
import { makeLargeSession } from '../../../test/support/large-session.ts'
import { SessionWorld } from '../../../test/support/session-world.ts'

test('a session of 200 MB is recovered in little memory, and later resumes read only its tail', async () => {
  await expect(resumeLarge(200e6)).resolves.toBeUndefined()
})

test('verifying a large session lets the event loop run, so that signals are handled', async () => {
  await using world = new SessionWorld()
  const { id } = await makeLargeSession(world.home, 64e6)
  const inspection = await world.store.inspect(id)
  let [turns, done] = [0, false]
  const next = (): void => {
    turns += 1
    if (!done) setImmediate(next)
  }
  setImmediate(next)
  expect(await inspection.health()).toMatchObject({ ok: true })
  done = true
  expect(turns).toBeGreaterThan(2)
})
