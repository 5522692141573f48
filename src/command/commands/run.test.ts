import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parallelRuns } from '../../../test/support/parallel-runs.ts'
import { isRunning, openToAll, stintBin, unprivileged, until, World } from '../../../test/support/world.ts'
import { parseOwnerLink } from '../../scratch/owner.ts'

const pidsIn = (path: string): number[] => readFileSync(path, 'utf8').trim().split(/\s+/).map(Number)

test('the program finds its scratch in TMPDIR, and the scratch is gone afterwards', async () => {
  await using world = new World()
  const script = 'echo "$TMPDIR $TEMP $TMP $STINT_TMP_DIR $STINT_REQUEST_ID"; echo x > "$TMPDIR/file"'
  const { code, stdout } = await world.stint(['run', '--', 'sh', '-c', script])
  const [tmpdir = '', temp, tmp, stintTmp, requestId] = stdout.trim().split(' ')
  expect(code).toBe(0)
  expect([temp, tmp, stintTmp]).toEqual([tmpdir, tmpdir, tmpdir])
  expect(tmpdir).toBe(join(world.runs, requestId ?? ''))
  expect(world.leftovers()).toEqual([])
})

// `npm run torture` starts 2,000.
test('40 runs, 8 at a time, get 40 directories named after their request ids, and leave none', async () => {
  await using world = new World()
  expect((await parallelRuns(world, 40)).size).toBe(40)
  expect(world.leftovers()).toEqual([])
  await until('the trash is empty', () =>
    readdirSync(join(world.root, 'trash')).every((name) => name === '.swept'),
  )
})

test('with --json, stdout is exactly the envelope, and the program prints to stderr', async () => {
  await using world = new World({ STINT_TRACE_ID: 'trace-7' })
  const result = await world.stint([
    'run',
    '--json',
    '--session',
    'my.session-1',
    '--',
    'sh',
    '-c',
    'echo out; echo err >&2',
  ])
  const { ok, data, error, meta } = result.envelope()
  expect(result.stderr).toBe('out\nerr\n')
  expect({ ok, data, error }).toEqual({
    ok: true,
    data: { exit_code: 0, command: ['sh', '-c', 'echo out; echo err >&2'] },
    error: null,
  })
  expect(meta).toMatchObject({ session_id: 'my.session-1', trace_id: 'trace-7' })
  expect(meta.session_tmp_dir).toBe(join(world.runs, meta.request_id))
  expect(meta.session_pid_file).toBe(join(world.runs, meta.request_id, '.stint/children.pids'))
})

test.each([
  ['exit 7', 7, { code: 'CHILD_FAILED', exit_code: 7, signal: null, retryable: false }],
  ['kill -9 $$', 137, { code: 'CHILD_FAILED', exit_code: 137, signal: 'SIGKILL', retryable: false }],
])('the exit code of `%s` passes through and is in the envelope', async (script, code, error) => {
  await using world = new World()
  const result = await world.stint(['run', '--json', '--', 'sh', '-c', script])
  expect(result.code).toBe(code)
  expect(result.envelope()).toMatchObject({ ok: false, data: null, error })
  expect(world.leftovers()).toEqual([])
  const plain = await world.stint(['run', '--', 'sh', '-c', script])
  expect(plain).toMatchObject({ code, stdout: '', stderr: '' })
})

test('a missing program is exit 127, and one that cannot be executed is exit 126', async () => {
  await using world = new World()
  const missing = await world.stint(['run', '--json', '--', 'no-such-program-here'])
  expect(missing.code).toBe(127)
  expect(missing.envelope().error?.code).toBe('COMMAND_NOT_FOUND')
  const file = join(world.tmp, 'plain.txt')
  writeFileSync(file, 'text', { mode: 0o644 })
  const plain = await world.stint(['run', '--', file])
  expect(plain.code).toBe(126)
  expect(plain.stderr).toContain('COMMAND_NOT_EXECUTABLE')
  expect(world.leftovers()).toEqual([])
})

test.each([
  ['/etc/passwd/x', 126],
  ['./loop', 126],
  [`./${'n'.repeat(300)}`, 126],
  ['./missing', 127],
])('a program that cannot be run, %s, is exit %i, not an unexpected error', async (program, code) => {
  await using world = new World()
  symlinkSync('loop', join(world.tmp, 'loop'))
  const result = await world.stint(['run', '--json', '--', program], { cwd: world.tmp })
  expect(result.code).toBe(code)
  expect(result.envelope().error?.code).toMatch(/^COMMAND_NOT_/)
})

test('a program that locks or removes its scratch, its record or the trash leaves nothing behind', async () => {
  await using world = new World({}, openToAll)
  chmodSync(world.tmp, 0o777)
  const mischief = [
    'chmod 000 "$TMPDIR"',
    'chmod -R 555 "$TMPDIR"',
    'rm -rf "$TMPDIR"',
    'rm -rf "$TMPDIR/../trash"',
    'rm -rf "$TMPDIR/.stint"; ln -s / "$TMPDIR/.stint"',
  ]
  for (const script of mischief) {
    for (const guard of [[], ['--no-guard']]) {
      const result = await world.stint(['run', ...guard, '--json', '--', 'sh', '-c', script], {
        cwd: '/',
        ...unprivileged,
      })
      expect([script, result.envelope()]).toMatchObject([script, { ok: true, warnings: [] }])
      const root = join(world.tmp, `stint-${unprivileged.uid ?? process.geteuid?.()}`)
      expect([...readdirSync(root), ...readdirSync(join(root, 'run'))]).toEqual(['run', 'trash'])
      await until('the trash is empty', () =>
        readdirSync(join(root, 'trash')).every((name) => name === '.swept'),
      )
    }
  }
})

test('stdin passes through: 50 MB through a pipe arrive intact', async () => {
  await using world = new World()
  expect((await world.stint(['run', '--', 'cat'], { input: 'hi\n' })).stdout).toBe('hi\n')
  const script = `head -c 52428800 /dev/urandom > "$0/in"; "$1" "$2" run -- cat < "$0/in" | cmp - "$0/in" && echo same`
  const { stdout } = await world.start('sh', ['-c', script, world.tmp, process.execPath, stintBin]).finished
  expect(stdout).toBe('same\n')
})

test('a reader that closes the pipe does not crash the run', async () => {
  await using world = new World()
  const pipeline = `"$0" "$1" run -- yes | head -n 1; "$0" "$1" run --json -- true | true; "$0" "$1" sweep | true`
  const { stdout, stderr } = await world.start('sh', ['-c', pipeline, process.execPath, stintBin]).finished
  expect(stdout).toBe('y\n')
  expect(stderr).toBe('')
  await until('nothing is left', () => world.leftovers().length === 0)
})

test.each(['000', '077'])('under umask %s, directories are 0700 and files 0600', async (umask) => {
  await using world = new World()
  const recorded = 'until grep -q "[0-9]" "$TMPDIR/.stint/children.pids"; do :; done'
  const report = `${recorded}; stat -c %a "$TMPDIR" "$TMPDIR/.stint" "$TMPDIR"/.stint/*`
  const command = `umask ${umask}; exec "$0" "$1" run -- sh -c '${report}'`
  const { stdout } = await world.start('sh', ['-c', command, process.execPath, stintBin]).finished
  const modes = stdout.trim().split('\n')
  expect(modes).toEqual(['700', '700', '600'])
  expect(statSync(world.root).mode & 0o777).toBe(0o700)
  expect(statSync(join(world.root, 'trash')).mode & 0o777).toBe(0o700)
  expect(world.leftovers()).toEqual([])
})

test('processes that the program leaves behind, daemons included, end with the run', async () => {
  await using world = new World()
  const pids = join(world.tmp, 'pids')
  const script = `sleep 300 & echo $! > "$0"; setsid sh -c 'echo $$ >> "$0"; exec sleep 300' "$0" & sleep 0.2; while [ "$(wc -l < "$0")" -lt 2 ]; do :; done`
  const { code } = await world.stint(['run', '--', 'sh', '-c', script, pids])
  expect(code).toBe(0)
  expect(pidsIn(pids)).toHaveLength(2)
  expect(pidsIn(pids).filter(isRunning)).toEqual([])
})

test('a run inside a run gets a sibling scratch, and its path is no longer', async () => {
  await using world = new World()
  const inner = `echo "$TMPDIR"; "$0" "$1" run -- sh -c 'echo "$TMPDIR"; readlink "$TMPDIR.owner"'`
  const { stdout } = await world.stint(['run', '--', 'sh', '-c', inner, process.execPath, stintBin])
  const [outerPath = '', innerPath = '', owner = ''] = stdout.trim().split('\n')
  expect(join(innerPath, '..')).toBe(join(outerPath, '..'))
  expect(innerPath.length).toBe(outerPath.length)
  expect(parseOwnerLink(owner)).toMatchObject({ parent_request_id: basename(outerPath), command: 'sh' })
  expect(world.leftovers()).toEqual([])
})

test.each([
  ['never', 'true', false],
  ['on-failure', 'true', false],
  ['on-failure', 'false', true],
  ['always', 'true', true],
])('--keep %s after `%s`: is the scratch kept? %s', async (keep, program, kept) => {
  await using world = new World()
  const { stderr } = await world.stint(['run', '--keep', keep, '--', program])
  expect(world.leftovers()).toHaveLength(kept ? 1 : 0)
  expect(stderr.includes('scratch kept at')).toBe(kept)
  await world.stint(['sweep'])
  expect(world.leftovers()).toHaveLength(kept ? 1 : 0)
})

test('a sweep leaves the newest ten of the kept scratches', async () => {
  await using world = new World()
  const kept: string[] = []
  for (let i = 0; i < 12; i++) {
    const { stderr } = await world.stint(['run', '--keep', 'always', '--', 'true'])
    kept.push(basename(/scratch kept at (.*)/.exec(stderr)?.[1] ?? ''))
  }
  const { data } = (await world.stint(['sweep', '--json'])).envelope()
  expect(world.leftovers().sort()).toEqual(kept.slice(2))
  // A run that started more than a minute after the first one has swept as well.
  const { removed } = data as { removed: { reason: string }[] }
  expect(removed.filter(({ reason }) => reason !== 'superseded')).toEqual([])
})

test('a symlink in the scratch is removed as a link, and its target stays', async () => {
  await using world = new World()
  const outside = join(world.tmp, 'outside')
  const script =
    'mkdir "$0"; echo precious > "$0/file"; ln -s "$0" "$TMPDIR/link"; ln -s "$0/file" "$TMPDIR/file-link"'
  expect((await world.stint(['run', '--no-guard', '--', 'sh', '-c', script, outside])).code).toBe(0)
  expect(world.leftovers()).toEqual([])
  expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('precious\n')
  expect(lstatSync(outside).isDirectory()).toBe(true)
})

test.each([
  [['run'], 'COMMAND is missing'],
  [['run', '--'], 'COMMAND is missing'],
  [['run', '--timeout', 'soon', '--', 'true'], '--timeout takes a duration'],
  [['run', '--timeout'], '--timeout needs a value'],
  [['run', '--keep', 'maybe', '--', 'true'], '--keep must be one of'],
  [['run', '--no-guard=yes', '--', 'true'], '--no-guard takes no value'],
  [['run', '--session', '../x', '--', 'true'], 'cannot be a session id'],
  [['run', '--session', 'a'.repeat(129), '--', 'true'], 'cannot be a session id'],
  [['run', '--tiemout', '3', '--', 'true'], 'unknown option --tiemout'],
  [['sweep', 'everything'], 'unexpected argument'],
  [['rnu'], 'unknown command'],
])('bad arguments %j: exit 2, a message, and nothing has happened', async (args, message) => {
  await using world = new World()
  const { code, stderr, stdout } = await world.stint(args)
  expect(code).toBe(2)
  expect(stderr + stdout).toContain(message)
  expect(stderr + stdout).not.toMatch(/\n\s+at /)
  expect(readdirSync(world.tmp)).toEqual([])
})

test('a session id with a secret is refused before it is written anywhere', async () => {
  await using world = new World({ DEPLOY_TOKEN: 'hunter2-hunter2' })
  const token = `ghp_${'aB3'.repeat(12)}`
  for (const id of ['mine-hunter2-hunter2', token]) {
    const { code, stderr, stdout } = await world.stint(['run', '--lock', '--session', id, '--', 'true'])
    expect([code, stderr + stdout]).toEqual([2, expect.stringContaining('contains a secret')])
    expect(stderr + stdout).not.toContain(id)
  }
  expect(readdirSync(world.tmp)).toEqual([])
})

test('a --json after the program belongs to the program', async () => {
  await using world = new World()
  expect(await world.stint(['run', 'echo', '--json'])).toMatchObject({
    code: 0,
    stdout: '--json\n',
    stderr: '',
  })
})
