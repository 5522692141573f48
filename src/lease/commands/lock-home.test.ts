import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureHome } from '../../base/fs/home.ts'
import { buildNoLinks } from '../../../test/support/build-c.ts'
import { validEnvelope } from '../../../test/support/envelope.ts'
import { errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { isRoot, openToAll, stintBin } from '../../../test/support/world.ts'

test('every directory of the home has mode 0700', async () => {
  await using world = new LockWorld()
  const script = 'umask 000; "$0" "$1" lock acquire --session a --json'
  await world.start('sh', ['-c', script, process.execPath, stintBin], { cwd: world.workspace }).finished
  for (const path of [world.home, join(world.home, 'locks'), world.locks])
    expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('an existing home keeps its mode and gets private directories; one that others can write to is refused', async () => {
  await using world = new LockWorld()
  mkdirSync(world.home)
  for (const mode of [0o755, 0o775, 0o757]) {
    chmodSync(world.home, mode)
    const result = await world.lock(['acquire', '--session', 'a', '--resource', `mode-${mode}`])
    expect(statSync(world.home).mode & 0o777).toBe(mode)
    if (mode === 0o755) expect(result.code).toBe(0)
    else expect([result.code, errorOf(result)?.code]).toEqual([4, 'HOME_UNSAFE'])
  }
  expect(statSync(join(world.home, 'locks')).mode & 0o777).toBe(0o700)
  expect(readdirSync(join(world.home, 'locks'))).toHaveLength(1)
})

test('an impossible home is a coded error with a hint', async () => {
  await using world = new LockWorld()
  const loop = join(world.tmp, 'loop')
  symlinkSync(loop, loop)
  writeFileSync(join(world.tmp, 'file'), '')
  const homes: NodeJS.ProcessEnv[] = [
    { STINT_HOME: join(world.tmp, 'no', 'such', 'parent') },
    { STINT_HOME: loop },
    { STINT_HOME: join(world.tmp, 'file', 'home') },
    { STINT_HOME: join(loop, 'home') },
    { STINT_HOME: join(world.tmp, 'x'.repeat(300)) },
    { STINT_HOME: join(world.tmp, 'x/'.repeat(3000)) },
    { STINT_HOME: undefined, HOME: '' },
    { STINT_HOME: undefined, HOME: 'relative' },
  ]
  for (const env of homes) {
    const result = await world.stint(['lock', 'acquire', '--session', 'a', '--json'], {
      cwd: world.workspace,
      env,
    })
    expect([result.code, errorOf(result)?.code]).toEqual([4, 'HOME_MISSING'])
    expect(errorOf(result)?.suggestion).toContain('STINT_HOME')
  }
})

test.each(['', 'locks', 'locks/KEY'])(
  'a file in the place of the directory HOME/%s is named in the error, and nothing is changed',
  async (name) => {
    await using world = new LockWorld()
    const path = join(world.home, name.replace('KEY', world.key))
    if (name !== '') ensureHome(world.home)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, 'mine')
    const result = await world.lock(['acquire', '--session', 'a'])
    expect([result.code, errorOf(result)?.code]).toEqual([4, 'HOME_UNSAFE'])
    expect(errorOf(result)?.message).toBe(`${path.replace(/\/$/, '')} is not a directory`)
    expect(readFileSync(path, 'utf8')).toBe('mine')
  },
)

test('for a user without a name and without HOME, the hint is to set STINT_HOME', async () => {
  await using world = new LockWorld()
  const result = await world.lockUnnamed(['status'], { STINT_HOME: undefined, HOME: undefined })
  expect([result.code, errorOf(result)?.code]).toEqual([4, 'HOME_MISSING'])
})

test('a deleted current directory is NOT_FOUND, unless a workspace is named', async () => {
  await using world = new LockWorld()
  const script =
    'mkdir gone && cd gone && rmdir ../gone; "$0" "$1" lock status --json; exec "$0" "$1" lock status --workspace "$2" --json'
  const { stdout } = await world.start('sh', ['-c', script, process.execPath, stintBin, world.workspace], {
    cwd: world.tmp,
  }).finished
  const [lost, named] = stdout.trim().split('\n')
  expect(validEnvelope(`${lost}\n`).error).toMatchObject({
    code: 'NOT_FOUND',
    suggestion: expect.stringContaining('--workspace'),
  })
  expect(validEnvelope(`${named}\n`)).toMatchObject({ ok: true, data: { workspace: world.workspace } })
})

test('acquire and release report a home that is read-only or full', async () => {
  await using world = new LockWorld()
  const inMount = async (size: string, then: string, command: string) => {
    const lock = (what: string) => `"$0" "$1" lock ${what} --session a --workspace / --json`
    const script = `mkdir -p "$STINT_HOME"; mount -t tmpfs -o mode=0700,${size} tmpfs "$STINT_HOME"
      ${lock('acquire')} > /dev/null; ${then}; ${lock(command)}`
    const { stdout } = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])
    return validEnvelope(stdout)
  }
  const readOnly = 'mount -o remount,ro "$STINT_HOME"'
  const full = 'cat /dev/zero > "$STINT_HOME/x" 2>/dev/null'
  for (const command of ['acquire', 'release'])
    expect((await inMount('size=64k', readOnly, command)).error).toMatchObject({ code: 'READ_ONLY' })
  for (const command of ['acquire', 'release'])
    expect((await inMount('size=64k', full, command)).error).toMatchObject({
      code: 'DISK_FULL',
      suggestion: expect.stringMatching(/^Free some space/),
    })
})

test('a read-only, full or foreign home is a coded error, never a hang or "acquired"', async () => {
  await using world = new LockWorld(openToAll)
  const acquire = '"$0" "$1" lock acquire --session a --workspace / --json; echo "exit $?"'
  const inMount = async (mount: string, before = ':') => {
    const script = `mkdir -p "$STINT_HOME"; mount -t tmpfs ${mount} tmpfs "$STINT_HOME"; ${before}; ${acquire}`
    const [envelope = '', exit] = (
      await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])
    ).stdout
      .trim()
      .split('\n')
    return [validEnvelope(`${envelope}\n`).error?.code, exit]
  }
  expect(await inMount('-o ro,mode=0700')).toEqual(['READ_ONLY', 'exit 4'])
  expect(await inMount('-o size=16k,mode=0700', 'cat /dev/zero > "$STINT_HOME/x" 2>/dev/null')).toEqual([
    'DISK_FULL',
    'exit 12',
  ])
  if (isRoot) {
    chmodSync(world.tmp, 0o755)
    mkdirSync(join(world.tmp, 'locked'), { mode: 0o500 })
    const denied = await world.stint(['lock', 'acquire', '--session', 'a', '--workspace', '/', '--json'], {
      uid: 65534,
      gid: 65534,
      cwd: '/',
      env: { STINT_HOME: join(world.tmp, 'locked', 'home') },
    })
    expect([denied.code, errorOf(denied)?.code]).toEqual([7, 'PERMISSION_DENIED'])
  }
  writeFileSync(join(world.tmp, 'file'), '')
  const file = await world.stint(['lock', 'acquire', '--session', 'a', '--json'], {
    cwd: world.workspace,
    env: { STINT_HOME: join(world.tmp, 'file') },
  })
  expect([file.code, errorOf(file)?.code]).toEqual([4, 'HOME_UNSAFE'])
})

test('a file system without links is LOCK_UNSUPPORTED, for a lease and for a session', async () => {
  await using world = new LockWorld()
  world.env.LD_PRELOAD = buildNoLinks(world.tmp)
  const lease = await world.lock(['acquire', '--session', 'a'])
  const session = await world.stint(['sessions', 'append', 'a', '--create', '--type', 'x', '--json'])
  for (const result of [lease, session])
    expect([result.code, errorOf(result)?.code]).toEqual([4, 'LOCK_UNSUPPORTED'])
})

test('the error of a failed call names the call and its path', async () => {
  await using world = new LockWorld()
  const script = `mkdir -p "$STINT_HOME"; mount -t tmpfs -o mode=0700 tmpfs "$STINT_HOME"
    "$0" "$1" lock acquire --session a --workspace / --json > /dev/null; mount -o remount,ro "$STINT_HOME"
    "$0" "$1" lock acquire --session a --workspace / --json`
  const { stdout } = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])
  expect(validEnvelope(stdout).error).toMatchObject({
    code: 'READ_ONLY',
    detail: expect.stringMatching(/^errno=EROFS call=open path=.*\/home\/locks\/\w{12}\/\.\w+-1$/) as string,
  })
})
