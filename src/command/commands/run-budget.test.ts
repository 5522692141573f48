import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Finished,
  isRunning,
  openToAll,
  unprivileged,
  until,
  World,
} from '../../../test/support/world.ts'

const run = (world: World, flags: string[], script: string): Promise<Finished> =>
  world.stint(['run', ...flags, '--', 'sh', '-c', script])

/** Expects that everything the run made is gone. */
async function isClean(world: World): Promise<void> {
  expect(world.leftovers()).toEqual([])
  await until('the trash is empty', () =>
    readdirSync(join(world.root, 'trash')).every((name) => name === '.swept'),
  )
}

test('a program that fills its scratch with bytes is ended, with its children, and everything is removed', async () => {
  await using world = new World()
  const pids = join(world.tmp, 'pids')
  const script = `sleep 300 & echo $$ $! > ${pids}; while :; do head -c 100000 /dev/zero >> "$TMPDIR/big"; done`
  const result = await run(world, ['--max-bytes', '1MB', '--json'], script)
  expect(result.code).toBe(4)
  const { error } = result.envelope()
  expect(error).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    retryable: false,
    phase: 'execution',
    message: expect.stringMatching(/, at most 977 KiB$/),
    files: 1,
  })
  for (const pid of readFileSync(pids, 'utf8').trim().split(' ')) expect(isRunning(Number(pid))).toBe(false)
  await isClean(world)
})

test('a program that fills its scratch with files, and ignores SIGTERM, is killed after the grace', async () => {
  await using world = new World()
  const script = `trap '' TERM; mkdir "$TMPDIR/d"; i=0; while :; do i=$((i+1)); : > "$TMPDIR/d/$i"; done`
  const result = await run(world, ['--max-files', '500', '--grace', '200ms', '--json'], script)
  expect(result.code).toBe(4)
  expect(result.envelope().error).toMatchObject({
    bytes: 0,
    message: expect.stringMatching(/ \d{3,} files, at most 500$/),
  })
  await isClean(world)
})

test('a program within its budget is not disturbed; the records of stint are not counted', async () => {
  await using world = new World()
  const script = 'printf 12345 > "$TMPDIR/a"; echo done'
  const result = await run(world, ['--max-bytes', '20KiB', '--max-files', '2'], script)
  expect(result).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' })
  const failing = await run(world, ['--max-bytes', '1GiB'], 'exit 7')
  expect(failing).toMatchObject({ code: 7, stderr: '' })
  await isClean(world)
})

test('many small files count as what the disk loses to them', async () => {
  await using world = new World()
  const script = 'cd "$TMPDIR"; for i in $(seq 300); do echo > $i; done'
  const result = await run(world, ['--max-bytes', '1MB', '--json'], script)
  expect(result.envelope().error).toMatchObject({ code: 'BUDGET_EXCEEDED' })
  expect(result.envelope().error?.bytes).toBeLessThanOrEqual(300)
})

test('the budget is checked once more at the end, so that the result does not depend on timing', async () => {
  await using world = new World()
  const result = await run(
    world,
    ['--max-files', '3', '--json'],
    'touch "$TMPDIR/1" "$TMPDIR/2" "$TMPDIR/3" "$TMPDIR/4"',
  )
  expect([result.code, result.envelope().error?.code]).toEqual([4, 'BUDGET_EXCEEDED'])
  await isClean(world)
})

const oddName = `fs.mkdirSync(Buffer.from('d\\xff', 'latin1'))
  fs.writeFileSync(Buffer.from('d\\xff/x', 'latin1'), Buffer.alloc(1e6))`
const longPath = `for (let i = 0; i < 30; i++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)) }
  fs.writeFileSync('x', Buffer.alloc(1e6))`

test.each([
  ['a name that is no UTF-8', oddName],
  ['a path too long to name', longPath],
])('%s hides nothing from a budget', async (_, fill) => {
  await using world = new World()
  const command = [process.execPath, '-e', `process.chdir(process.env.TMPDIR); ${fill}`]
  const result = await world.stint(['run', '--max-bytes', '500KB', '--json', '--', ...command])
  expect(result.envelope().error).toMatchObject({
    code: 'BUDGET_EXCEEDED',
    files: 1,
  })
  await isClean(world)
})

test('a program that fails by itself keeps its exit code; an exceeded budget is then only a warning', async () => {
  await using world = new World()
  const large = join(world.tmp, 'large')
  writeFileSync(large, Buffer.alloc(900_000))
  // `mv` fails because of the missing file, in the moment in which the large one arrives: a check of the
  // budget that came in between would end the program.
  const script = `exec mv ${join(world.tmp, 'missing')} ${large} "$TMPDIR" 2>/dev/null`
  const result = await run(world, ['--max-bytes', '100KB', '--json'], script)
  expect([result.code, result.envelope()]).toMatchObject([
    1,
    {
      error: { code: 'CHILD_FAILED' },
      warnings: [expect.stringMatching(/^BUDGET_EXCEEDED: .*88\d KiB, at most 97\.7 KiB$/)],
    },
  ])
  await isClean(world)
})

test('unreadable directories are not counted, and there is a warning', async () => {
  await using world = new World({}, openToAll)
  chmodSync(world.tmp, 0o777)
  // Closed before it is filled: a check of the budget may come at any moment.
  const script = 'mkdir "$TMPDIR/d"; exec 3> "$TMPDIR/d/x"; chmod 0 "$TMPDIR/d"; head -c 900000 /dev/zero >&3'
  const args = ['run', '--max-bytes', '500KB', '--json', '--', 'sh', '-c', script]
  const result = await world.stint(args, { cwd: '/', ...unprivileged })
  expect([result.code, result.envelope().warnings]).toEqual([
    0,
    ['BUDGET: some directories cannot be read; their contents are not counted'],
  ])
})

test('--keep on-failure keeps a scratch that exceeded its budget', async () => {
  await using world = new World()
  const result = await run(
    world,
    ['--max-bytes', '10', '--keep', 'on-failure'],
    'head -c 900 /dev/zero > "$TMPDIR/x"',
  )
  expect(result.code).toBe(4)
  const [name = ''] = world.leftovers()
  expect(existsSync(join(world.runs, name, 'x'))).toBe(true)
})

test.each([
  ['--max-bytes', 'much'],
  ['--max-bytes', '-1'],
  ['--max-files', '1.5'],
  ['--max-files', '1k'],
])('%s %s is exit 2, and nothing has happened', async (flag, value) => {
  await using world = new World()
  const result = await run(world, [flag, value, '--json'], 'echo no')
  expect([result.code, result.envelope().error?.code]).toEqual([2, 'ARG_ERROR'])
  expect(readdirSync(world.tmp)).toEqual([])
})
