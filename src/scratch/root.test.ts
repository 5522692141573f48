import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { validEnvelope } from '../../test/support/envelope.ts'
import { isRoot, openToAll, stintBin, World } from '../../test/support/world.ts'

/** Runs a script in its own mount namespace, with stint as "$0" "$1". */
const inOwnMounts = (world: World, script: string) =>
  world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])

test("a root that is a symlink, a file or another user's is refused with exit 4, and not followed", async () => {
  const plants: [string, (root: string, elsewhere: string) => void][] = [
    ['is a symbolic link', (root, elsewhere) => symlinkSync(elsewhere, root)],
    ['is a symbolic link', (root) => symlinkSync(join(dirname(root), 'nowhere'), root)],
    ['is not a directory', (root) => writeFileSync(root, '')],
  ]
  if (isRoot)
    plants.push(['belongs to user 65534', (root) => (mkdirSync(root), chownSync(root, 65534, 65534))])
  for (const [problem, plant] of plants) {
    await using world = new World()
    const elsewhere = join(world.tmp, 'elsewhere')
    mkdirSync(elsewhere)
    plant(world.root, elsewhere)
    const before = readdirSync(world.tmp, { recursive: true })
    for (const args of [
      ['run', '--json', '--', 'touch', join(world.tmp, 'ran')],
      ['sweep', '--json'],
    ]) {
      const result = await world.stint(args)
      expect(result.code).toBe(4)
      expect(result.envelope().error).toMatchObject({ code: 'TEMP_DIR_UNSAFE' })
      expect(result.envelope().error?.message).toContain(problem)
    }
    expect(readdirSync(world.tmp, { recursive: true })).toEqual(before)
  }
})

test('the advice about an unsafe root can be followed where only another user can remove it', async () => {
  await using world = new World()
  symlinkSync(world.tmp, world.root)
  const { error } = (await world.stint(['run', '--json', '--', 'true'])).envelope()
  expect(error?.suggestion).toMatch(/^Set STINT_TMP_ROOT to a directory that is yours/)
  const own = join(world.tmp, 'own')
  mkdirSync(own)
  expect((await world.stint(['run', '--', 'true'], { env: { STINT_TMP_ROOT: own } })).code).toBe(0)
})

test('a trash that is a symlink is refused like the root', async () => {
  await using world = new World()
  const elsewhere = join(world.tmp, 'elsewhere')
  mkdirSync(elsewhere)
  mkdirSync(world.root, 0o700)
  symlinkSync(elsewhere, join(world.root, 'trash'))
  const result = await world.stint(['run', '--json', '--', 'true'])
  expect(result.code).toBe(4)
  expect(result.envelope().error?.code).toBe('TEMP_DIR_UNSAFE')
  expect(readdirSync(elsewhere)).toEqual([])
})

test('an own root that other users can read is made private again', async () => {
  await using world = new World()
  mkdirSync(world.root)
  chmodSync(world.root, 0o755)
  expect((await world.stint(['run', '--', 'true'])).code).toBe(0)
  expect(statSync(world.root).mode & 0o777).toBe(0o700)
})

test('a temp directory that is missing or a file is exit 4 with a hint', async () => {
  await using world = new World()
  const file = join(world.tmp, 'file')
  writeFileSync(file, '')
  for (const tmp of [join(world.tmp, 'missing'), file, join(file, 'below')]) {
    const result = await world.stint(['run', '--json', '--', 'true'], { env: { STINT_TMP_ROOT: tmp } })
    expect(result.code).toBe(4)
    expect(result.envelope().error).toMatchObject({
      code: 'TEMP_DIR_MISSING',
      suggestion: expect.any(String),
    })
  }
})

test('a full disk is exit 12, DISK_FULL, retryable, with a hint; a sweep still works', async () => {
  await using world = new World()
  const script = `
    mount -t tmpfs -o size=64k,mode=1777 tmpfs "$STINT_TMP_ROOT" &&
    "$0" "$1" run --no-guard -- true &&
    { cat /dev/zero > "$STINT_TMP_ROOT/filler" 2>/dev/null; "$0" "$1" run --json -- true; echo "exit $?"; "$0" "$1" sweep; }`
  const { stdout, stderr } = await inOwnMounts(world, script)
  const [envelope, exit, swept] = stdout.trim().split('\n')
  expect(validEnvelope(`${envelope}\n`)).toMatchObject({
    ok: false,
    error: { code: 'DISK_FULL', retryable: true, suggestion: expect.stringContaining('stint sweep') },
  })
  expect(exit).toBe('exit 12')
  expect(validEnvelope(`${swept}\n`)).toMatchObject({ ok: true })
  expect(stdout + stderr).not.toMatch(/\n\s+at /)
})

test('a full disk under stdout is exit 12, with a message on stderr', async () => {
  await using world = new World()
  const { stdout, stderr } = await world.start('sh', [
    '-c',
    '"$0" "$1" run --json -- true > /dev/full; echo "exit $?"; "$0" "$1" --help > /dev/full; echo "exit $?"',
    process.execPath,
    stintBin,
  ]).finished
  expect(stdout).toBe('exit 12\nexit 12\n')
  expect(stderr).toContain('DISK_FULL')
})

test('a read-only file system is exit 4, READ_ONLY', async () => {
  await using world = new World()
  const script = `mount -t tmpfs -o ro tmpfs "$STINT_TMP_ROOT" && "$0" "$1" run --json -- true; echo "exit $?"`
  const [envelope, exit] = (await inOwnMounts(world, script)).stdout.trim().split('\n')
  expect(validEnvelope(`${envelope}\n`)).toMatchObject({
    error: { code: 'READ_ONLY', suggestion: expect.any(String) },
  })
  expect(exit).toBe('exit 4')
})

test('a missing permission is exit 7, PERMISSION_DENIED', async () => {
  await using world = new World({}, openToAll)
  chmodSync(world.tmp, 0o555)
  // Root has every permission, so run as an ordinary user.
  const result = await world.stint(
    ['run', '--json', '--', 'true'],
    isRoot ? { uid: 65534, gid: 65534, cwd: '/' } : {},
  )
  expect(result.code).toBe(7)
  expect(result.envelope().error).toMatchObject({ code: 'PERMISSION_DENIED', suggestion: expect.any(String) })
  chmodSync(world.tmp, 0o700)
})

test('the files of a bind mount inside a scratch survive the run and the sweep, which report it', async () => {
  await using world = new World()
  const precious = join(world.tmp, 'precious')
  mkdirSync(precious)
  writeFileSync(join(precious, 'file'), 'data')
  const mounting = `mkdir "$TMPDIR/m" && mount --bind "${precious}" "$TMPDIR/m"`
  for (const guard of ['', '--no-guard']) {
    const script = `
      "$0" "$1" run ${guard} --json -- sh -c '${mounting}'
      "$0" "$1" sweep --json; echo "exit $?"
      umount "$STINT_TMP_ROOT"/stint-*/run/req_*/m && "$0" "$1" sweep --json`
    const { stdout } = await inOwnMounts(world, script)
    const [ran, swept, exit, after] = stdout.trim().split('\n')
    expect(validEnvelope(`${ran}\n`)).toMatchObject({
      ok: true,
      warnings: [expect.stringMatching(/CLEANUP_FAILED: .*\/m could not be removed: MOUNT_POINT/)],
    })
    expect(validEnvelope(`${swept}\n`)).toMatchObject({
      ok: false,
      error: { code: 'PARTIAL_FAILURE' },
      data: { failures: [{ error: 'MOUNT_POINT' }] },
    })
    expect(exit).toBe('exit 3')
    expect(validEnvelope(`${after}\n`)).toMatchObject({
      ok: true,
      data: { removed: [{ reason: 'owner-dead' }] },
    })
    expect(existsSync(join(precious, 'file'))).toBe(true)
    expect(world.leftovers()).toEqual([])
  }
})

test('after SIGKILL, the guard leaves a bind mount inside the scratch alone', async () => {
  await using world = new World()
  const precious = join(world.tmp, 'pre cious')
  mkdirSync(precious)
  writeFileSync(join(precious, 'file'), 'data')
  const script = `
    "$0" "$1" run -- sh -c 'mkdir "$TMPDIR/m" && mount --bind "${precious}" "$TMPDIR/m" && kill -9 $PPID && sleep 300'
    id=$(basename "$STINT_TMP_ROOT"/stint-*/run/req_*/)
    while grep -qsF "STINT_GUARD=$id" /proc/[0-9]*/environ; do sleep 0.02; done
    ls "$STINT_TMP_ROOT"/stint-*/run/req_*/m`
  const { stdout } = await inOwnMounts(world, script)
  expect(stdout).toBe('file\n')
  expect(existsSync(join(precious, 'file'))).toBe(true)
})
