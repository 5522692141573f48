import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { du } from '../../../test/support/du.ts'
import { World } from '../../../test/support/world.ts'
import { measureHome } from './disk-use.ts'
import { SessionsHome } from './sessions-home.ts'

test('sessions are measured by kind; a file or a link among them has no disk use', async () => {
  await using world = new World()
  const session = join(world.tmp, 'sessions/mine')
  mkdirSync(join(session, 'blobs'), { recursive: true })
  for (let n = 0; n < 2000; n++) writeFileSync(join(session, 'blobs', String(n)), 'x')
  writeFileSync(join(session, 'journal.log'), 'line')
  writeFileSync(join(world.tmp, 'sessions/stray'), 'x')
  symlinkSync(world.tmp, join(world.tmp, 'sessions/linked'))
  const measured = await measureHome(new SessionsHome(world.tmp))
  const byId = new Map(measured.sessions.map((use) => [use.session_id, use]))
  expect(byId.get('mine')).toMatchObject({ bytes: 2004, disk_bytes: du(session) })
  expect(byId.get('mine')?.disk).toMatchObject({
    journal: du(join(session, 'journal.log')),
    blobs: du(join(session, 'blobs')),
  })
  for (const id of ['stray', 'linked']) expect(byId.get(id)).toMatchObject({ bytes: 0, disk_bytes: 0 })
})
