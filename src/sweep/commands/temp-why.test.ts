import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { plant } from '../../../test/support/plant.ts'
import { dataOf, dead, type Entry, find, list, temp } from '../../../test/support/temp-commands.ts'
import { stintBin, World } from '../../../test/support/world.ts'
import { moveToTrash } from '../../scratch/trash.ts'
import { openRoot } from '../../scratch/root.ts'
import { createScratch } from '../../scratch/scratch.ts'

interface Why {
  path: string
  exists: boolean
  entry: Entry
  contexts: { name: string }[]
  context: string | null
  test_file: string | null
  tracked: { path: string } | null
  fate: string
}

async function why(world: World, path: string): Promise<Why> {
  return dataOf(await temp(world, 'why', path)) as unknown as Why
}

test('why shows the run, its session, the run that started it, the contexts and the test file', async () => {
  await using world = new World()
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  using outer = createScratch({ root, command: 'outer' })
  using scratch = createScratch({
    root,
    command: 'inner',
    sessionId: 'mine',
    parentRequestId: outer.requestId,
  })
  const describing = scratch.context('describe', { file: 'src/a.test.ts' })
  const file = describing.context('it').file('deep/file', '12345')
  const found = await why(world, file)
  expect(found).toMatchObject({
    path: file,
    exists: true,
    entry: {
      kind: 'scratch',
      path: scratch.path,
      request_id: scratch.requestId,
      session_id: 'mine',
      parent_request_id: outer.requestId,
      command: 'inner',
      pid: process.pid,
      liveness: 'alive',
      reason: 'owner-alive',
    },
    contexts: [{ name: 'describe' }, { name: 'describe > it' }],
    context: 'describe > it',
    test_file: 'src/a.test.ts',
    tracked: null,
    fate: 'it is removed when its run ends',
  })
  expect(await why(world, `${file}/gone`)).toMatchObject({ exists: false, context: 'describe > it' })
  expect(await why(world, scratch.file('plain'))).toMatchObject({ contexts: [], context: null })
  symlinkSync(world.tmp, join(world.tmp, 'link'))
  expect((await why(world, file.replace(world.tmp, join(world.tmp, 'link')))).path).toBe(file)
  const relative = await world.stint(['temp', 'why', 'file', '--json'], { cwd: join(file, '..') })
  expect(dataOf(relative)).toMatchObject({ path: file })
})

test('why knows outputs, the trash, tracked paths elsewhere, and the files in them', async () => {
  await using world = new World()
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  using scratch = createScratch({ root, command: 'tool' })
  const report = scratch.output('report.txt')
  expect(await why(world, report)).toMatchObject({
    entry: { kind: 'output', request_id: scratch.requestId, command: 'tool', reason: 'owner-alive' },
  })
  const elsewhere = join(world.tmp, 'elsewhere')
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'file'), '12345')
  scratch.context('test one').track(elsewhere)
  const tracked = await why(world, join(elsewhere, 'file'))
  expect(tracked).toMatchObject({
    entry: { kind: 'tracked', request_id: scratch.requestId, command: 'tool', bytes: 5, files: 1 },
    tracked: { path: elsewhere, context: 'test one', sweepable: true },
    context: 'test one',
  })
  const early = scratch.track(join(world.tmp, 'not-yet'))
  expect((await why(world, early)).fate).toMatch(/^only its own run removes it/)
  const trashed = plant(world, dead)
  moveToTrash(root, trashed)
  expect(await why(world, join(root.trash, basename(trashed), 'work'))).toMatchObject({
    entry: { kind: 'trash', request_id: basename(trashed), reason: 'trash' },
  })
})

test('why answers NOT_FOUND for a path of another program, and exit 2 unless there is exactly one path', async () => {
  await using world = new World()
  plant(world, dead)
  for (const path of ['/etc/passwd', world.tmp, world.root, join(world.root, 'req_x'), '/']) {
    const result = await temp(world, 'why', path)
    expect([result.code, result.envelope().error?.code]).toEqual([5, 'NOT_FOUND'])
    expect(result.envelope().error?.message).toContain(path)
  }
  for (const args of [[], [''], ['a', 'b']]) expect((await temp(world, 'why', ...args)).code).toBe(2)
})

test('forged records do no harm: contexts outside, tracked roots, escape sequences', async () => {
  await using world = new World()
  const escape = '\u001b]0;owned\u0007\u202e'
  const path = plant(world, dead, { command: `make${escape}`, session_id: `s${escape}` })
  const lines = [
    { dir: '../../..', name: 'out', file: null },
    { dir: 'd', name: `test${escape}`, file: `a${escape}.ts` },
    { dir: 'd', name: 7 },
    'text',
    null,
  ]
  const log = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"dir":"d","name":"torn`
  writeFileSync(join(path, '.stint/contexts.log'), log)
  mkdirSync(join(path, 'd'))
  writeFileSync(join(path, 'd', `file${escape}`), '')
  mkdirSync(join(world.root, 'tracked'), { mode: 0o700 })
  const { dev, ino, birthtimeMs: born } = statSync('/')
  const tracked = { path: '/', file: { dev, ino, born }, context: escape }
  writeFileSync(join(world.root, 'tracked', basename(path)), `${JSON.stringify(tracked)}\nnonsense\n`)

  const found = await why(world, join(path, 'd', `file${escape}`))
  expect(found).toMatchObject({ contexts: [{ dir: 'd' }], entry: { session_id: null } })
  const record = find(await list(world), join(world.root, 'tracked', basename(path)))
  expect(record).toMatchObject({ kind: 'tracked', files: 0, orphan: true, reason: 'owner-dead' })
  for (const args of [['list'], ['why', join(path, 'd', `file${escape}`)], ['stats']]) {
    const quoted = args.map((arg) => `'${arg}'`).join(' ')
    const typed = await world.start(
      'script',
      ['-qec', `${process.execPath} ${stintBin} temp ${quoted}`, '/dev/null'],
      {
        env: { SHELL: '/bin/sh', STINT_OUTPUT: '' },
      },
    ).finished
    expect(typed.stdout).not.toContain('\u001b')
    expect(typed.stdout).not.toContain('\u202e')
  }
})
