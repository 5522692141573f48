import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureHome } from '../../base/fs/home.ts'
import { HookUser } from '../../../test/support/hook-user.ts'
import { LockWorld } from '../../../test/support/lock-world.ts'
import { deadPid, plant } from '../../../test/support/plant.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { type Finished, projectRoot, stintBin, type World } from '../../../test/support/world.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import type { Check, Level } from './check.ts'

interface Diagnosis {
  code: number | null
  checks: Check[]
  of: (name: string) => Check[]
  counts: Record<Level, number>
  finished: Finished
}

/** The checks of a doctor's envelope, which must agree with its exit code. */
function diagnosisOf(finished: Finished): Diagnosis {
  const { data, error, ok } = finished.envelope()
  const { checks, counts } = data as Pick<Diagnosis, 'checks' | 'counts'>
  expect([ok, error?.code ?? null]).toEqual(counts.fail === 0 ? [true, null] : [false, 'DOCTOR_FOUND'])
  expect(finished.code).toBe(counts.fail === 0 ? 0 : 4)
  for (const { level, fix } of checks) expect(fix === null).toBe(level === 'ok')
  return {
    code: finished.code,
    checks,
    counts,
    of: (name) => checks.filter((each) => each.name === name),
    finished,
  }
}

const diagnose = async (world: World, env: NodeJS.ProcessEnv = {}, cwd = world.tmp): Promise<Diagnosis> =>
  diagnosisOf(await world.stint(['doctor', '--json'], { env, cwd }))

/** A user without hooks: the checks must not depend on the user who runs the tests. */
class NewUser extends HookUser {
  readonly home = join(this.tmp, 'home')

  constructor() {
    super()
    delete this.env.NODE_OPTIONS
  }
}

test('on a healthy machine every check passes, in the documented order, and nothing is left behind', async () => {
  await using world = new NewUser()
  const { code, checks, counts } = await diagnose(world)
  expect(checks.filter(({ level }) => level === 'fail')).toEqual([])
  expect(code).toBe(0)
  const names = ['node', 'processes', 'home', 'temp', 'home disk', 'temp disk', 'leases', 'sessions']
  const others = ['points', 'orphans', 'hooks', 'home mount', 'home files', 'temp files']
  expect(checks.map(({ name }) => name)).toEqual([...names, ...others])
  const page = readFileSync(join(projectRoot, 'docs/status.md'), 'utf8')
  for (const { name } of checks) expect(page).toMatch(new RegExp(`^\\| .*\`${name}\`.* \\|`, 'm'))
  expect(counts.ok + counts.warn).toBe(checks.length)
  expect(existsSync(world.home)).toBe(false)
  expect(readdirSync(world.tmp).filter((name) => name.startsWith('.'))).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test('a home that others can write to fails, and its fix repairs it', async () => {
  await using world = new NewUser()
  mkdirSync(world.home)
  chmodSync(world.home, 0o777)
  const { code, of, finished } = await diagnose(world)
  expect([code, of('home')[0]?.level]).toEqual([4, 'fail'])
  expect(finished.envelope().error?.message).toBe('not everything can work here: home')
  await world.start('sh', ['-c', of('home')[0]?.fix ?? '']).finished
  const after = await diagnose(world)
  expect([after.code, after.of('home')]).toEqual([0, [expect.objectContaining({ level: 'ok' })]])
})

test('an impossible home and a missing temp directory fail, and the other checks go on', async () => {
  await using world = new NewUser()
  writeFileSync(join(world.tmp, 'file'), '')
  const below = await diagnose(world, { STINT_HOME: join(world.tmp, 'file/home') })
  expect(below.of('home')[0]).toMatchObject({ level: 'fail', fix: expect.stringContaining('STINT_HOME') })
  expect(below.of('hooks')).toHaveLength(1)
  const env = { STINT_HOME: 'relative', STINT_TMP_ROOT: join(world.tmp, 'nowhere') }
  const { of } = await diagnose(world, env)
  expect(of('home')[0]).toMatchObject({ level: 'fail', text: expect.stringContaining('absolute') })
  expect(of('temp')[0]).toMatchObject({ level: 'fail', fix: expect.stringContaining('STINT_TMP_ROOT') })
  expect(of('hooks')).toHaveLength(1)
})

const inMount = async (world: NewUser, options: string, target: string, before = ':'): Promise<Diagnosis> => {
  const script = `mkdir -p "${target}" && mount -t tmpfs ${options} tmpfs "${target}" && { ${before}; exec "$0" "$1" doctor --json; }`
  return diagnosisOf(await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin]))
}

test('a home in memory, on a read-only disk and on a full disk get different findings', async () => {
  await using world = new NewUser()
  const memory = await inMount(world, '-o mode=700', world.home)
  expect(memory.of('home mount')[0]).toMatchObject({ level: 'warn', text: expect.stringContaining('memory') })
  expect(memory.of('home files')[0]?.level).toBe('ok')
  const closed = await inMount(world, '-o mode=700,ro', world.home)
  expect(closed.of('home files')[0]).toMatchObject({ level: 'fail', text: expect.stringContaining('EROFS') })
  const fill = `head -c 2000000 /dev/zero > "${world.home}/full" 2>/dev/null`
  const full = await inMount(world, '-o mode=700,size=1m', world.home, fill)
  expect(full.of('home disk')[0]?.level).toBe('fail')
  expect([full.of('home files')[0]?.level, full.code]).toEqual(['fail', 4])
})

test('orphans, claims and unreadable records are found', async () => {
  await using world = new LockWorld()
  plant(world, { ...ownIdentity(), pid: deadPid })
  world.plantClaim({ holders: [{ ...ownIdentity(), pid: deadPid }] })
  const stale = await diagnose(world)
  expect(stale.of('orphans')[0]).toMatchObject({ level: 'warn', fix: 'stint sweep' })
  expect(stale.of('leases')[0]).toMatchObject({ level: 'ok', text: '0 claims held' })
  world.plantClaim({})
  expect((await diagnose(world)).of('leases')[0]).toMatchObject({ level: 'ok', text: '1 claim held' })
  world.plant('{"schema_version":99}')
  const unknown = await diagnose(world)
  expect(unknown.of('leases')[0]).toMatchObject({ level: 'fail', text: expect.stringContaining(world.key) })
})

test('a damaged session fails, and the fix is the command that repairs it', async () => {
  await using world = new NewUser()
  const broken = join(world.home, 'sessions/broken')
  ensureHome(world.home)
  mkdirSync(broken, { recursive: true, mode: 0o700 })
  writeFileSync(join(broken, 'manifest.json'), '{"schema":1', { mode: 0o600 })
  const { of, code } = await diagnose(world)
  expect(of('sessions')).toEqual([
    { name: 'sessions', level: 'fail', text: '1 damaged: broken', fix: 'stint sessions repair broken' },
  ])
  expect(code).toBe(4)
})

test('an agent without hooks warns; installed hooks pass, and fail when the program they start is gone', async () => {
  await using world = new NewUser()
  mkdirSync(join(world.user, '.claude'))
  expect((await diagnose(world)).of('hooks')[0]).toMatchObject({
    level: 'warn',
    fix: 'stint hook install claude',
  })
  await world.stint(['hook', 'install', 'claude'])
  expect((await diagnose(world)).of('hooks')[0]).toMatchObject({ level: 'ok' })
  const settings = join(world.user, '.claude/settings.json')
  const gone = join(world.tmp, 'gone/stint-hook.cjs')
  writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll(/[^ "']*stint-hook\.cjs/g, gone))
  expect((await diagnose(world)).of('hooks')[0]).toMatchObject({
    level: 'fail',
    text: expect.stringContaining(gone),
  })
})

test('an unreachable PostgreSQL server and an invalid store fail, without showing a password', async () => {
  await using world = new NewUser()
  const away = await diagnose(world, { STINT_STORE: 'postgres://me:s3cret@127.0.0.1:1/db' })
  expect(away.of('postgres')[0]).toMatchObject({
    level: 'fail',
    text: expect.stringContaining('ECONNREFUSED'),
  })
  expect(away.finished.stdout + away.finished.stderr).not.toContain('s3cret')
  const none = await diagnose(world, { STINT_STORE: 'mysql://s3cret' })
  expect(none.of('postgres')[0]).toMatchObject({
    level: 'fail',
    text: expect.stringContaining('STINT_STORE'),
  })
  expect(none.finished.stdout).not.toContain('s3cret')
})

test('a scratch without an owner does no harm, and a root with the wrong mode warns and is repaired by the trial', async () => {
  await using world = new NewUser()
  plant(world, undefined)
  chmodSync(world.root, 0o755)
  const { of } = await diagnose(world)
  expect(of('temp')[0]).toMatchObject({ level: 'warn', fix: `chmod 700 ${world.root}` })
  expect(lstatSync(world.root).mode & 0o777).toBe(0o700)
  rmSync(world.root, { recursive: true })
})

test('a terminal shows each check with its fix below, then the verdict; --quiet shows the verdict only', async () => {
  await using world = new LockWorld()
  mkdirSync(world.home, { mode: 0o700 })
  chmodSync(world.home, 0o777)
  await using terminal = await Terminal.open(world)
  terminal.resize(160, 60)
  terminal.enter('stint doctor')
  await terminal.shows(/\[4\] ready>$/)
  expect(terminal.screen()).toMatch(/^ok {4}node +\d+\./m)
  expect(terminal.screen()).toMatch(/^FAIL {2}home +other users can write.*\n +→ chmod 700 /m)
  expect(terminal.screen()).toMatch(
    /^\d+ checks: \d+ fine, \d+ warnings?, 1 failure\nstint doctor: .*\(DOCTOR_FOUND\)/m,
  )
  terminal.enter('clear; stint doctor --quiet')
  await terminal.shows(
    /^stint doctor: not everything can work here: home \(DOCTOR_FOUND\)\n.*\n\[4\] ready>$/,
  )
})
