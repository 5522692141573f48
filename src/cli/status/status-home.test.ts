import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HookUser } from '../../../test/support/hook-user.ts'
import { isRoot, openToAll } from '../../../test/support/world.ts'
import type { Check } from '../health/check.ts'
import type { StatusData } from './gather.ts'

const nobody = { uid: 65534, gid: 65534 }

/** The failures that status and doctor report. */
async function failures(
  world: HookUser,
  home: string,
  as: object = {},
): Promise<[status: Check[], doctor: Check[]]> {
  const options = { cwd: '/', env: { STINT_HOME: home }, ...as }
  const status = (await world.stint(['status', '--json'], options)).envelope().data as StatusData
  const doctor = (await world.stint(['doctor', '--json'], options)).envelope().data as { checks: Check[] }
  return [status.findings, doctor.checks.filter(({ level }) => level === 'fail')]
}

const homes: [what: string, home: (world: HookUser) => string, text: RegExp, fix: RegExp][] = [
  ['a device', () => '/dev/null', /^\/dev\/null is not a directory$/, /^Make it a directory .* STINT_HOME/],
  [
    'a file',
    ({ tmp }) => (writeFileSync(join(tmp, 'file'), ''), join(tmp, 'file')),
    /\/file is not a directory$/,
    /^Make it a directory .* STINT_HOME/,
  ],
  [
    'below a file',
    ({ tmp }) => (writeFileSync(join(tmp, 'file'), ''), join(tmp, 'file/home')),
    /\/file\/home cannot be made: \S+\/file is not a directory$/,
    /^Set STINT_HOME/,
  ],
  [
    'nowhere',
    () => '/nonexistent/a/b',
    /^there is no directory \/nonexistent\/a /,
    /^mkdir -p \/nonexistent\/a/,
  ],
  ['relative', () => 'some/home', /absolute/, /^Set STINT_HOME to an absolute path\.$/],
]

test.each(homes)('a home that is %s is one finding, and its fix helps', async (_, home, text, fix) => {
  await using world = new HookUser()
  for (const found of await failures(world, home(world)))
    expect(found).toEqual([
      {
        name: 'home',
        level: 'fail',
        text: expect.stringMatching(text) as string,
        fix: expect.stringMatching(fix) as string,
      },
    ])
})

test.each([
  ['', '', /^you cannot use \S+\/closed \(mode 0\)$/, /^chmod 700 /],
  [
    ' in a directory',
    '/home',
    /^cannot look at the home: no permission for \S+\/closed \(EACCES\)$/,
    /^chmod u\+rwX /,
  ],
])('a home%s that is closed to its user is one finding, and its fix helps', async (_, below, text, fix) => {
  await using world = new HookUser(openToAll)
  const closed = join(world.tmp, 'closed')
  mkdirSync(closed)
  if (isRoot) for (const path of [world.tmp, closed]) chownSync(path, nobody.uid, nobody.gid)
  chmodSync(closed, 0)
  for (const found of await failures(world, closed + below, isRoot ? nobody : {}))
    expect(
      found.filter(({ name }) => name.startsWith('home') || name === 'sessions' || name === 'leases'),
    ).toEqual([
      {
        name: 'home',
        level: 'fail',
        text: expect.stringMatching(text) as string,
        fix: expect.stringMatching(fix) as string,
      },
    ])
})
