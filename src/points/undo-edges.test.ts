import {
  chmodSync,
  existsSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'
import { stintBin } from '../../test/support/world.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { acquireLease } from '../lease/index.ts'
import { findStore, readChanges, readChangeSets, readKeptIgnored, setKeptIgnored } from './index.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const conflict = (why: string) => ({ code: 'UNDO_CONFLICT', message: expect.stringContaining(why) })

test('a file that a turn has taken out of .gitignore is not deleted by its undo', async () => {
  world.write({ '.gitignore': '.env\n', '.env': 'SECRET=1\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ '.gitignore': '# nothing\n' }))
  await world.undo([turn.id])
  expect(world.read('.gitignore')).toBe('.env\n')
  expect(world.read('.env')).toBe('SECRET=1\n')
})

test('an ignored file that was made again after a turn deleted it is not overwritten', async () => {
  world.write({ '.env': 'kept=1\n', 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ '.gitignore': '.env\n', '.env': null }))
  world.write({ '.env': 'new=1\n' })
  await expect(world.undo([turn.id])).rejects.toMatchObject(conflict('.env: a file is there'))
  expect(world.read('.env')).toBe('new=1\n')
})

test('ignored files that the user lists are kept, and nothing in ignored directories', async () => {
  setKeptIgnored(['.env*', '*.sqlite'])
  world.write({ '.gitignore': '.env*\nnode_modules/\n*.sqlite\n*.log\n' })
  world.commit()
  const large = Buffer.alloc((1 << 20) + 1)
  world.write({
    '.env': 'KEY=1\n',
    'sub/.env.local': 'a\n',
    'a.sqlite': large,
    'node_modules/x/.env': 'x\n',
    'a.log': '',
  })
  const { tree } = await world.point('grant', 'claude-1')
  const listed = world.storeGit('ls-tree', '-r', '--name-only', tree).trim().split('\n')
  expect(listed).toEqual(['.env', '.gitignore', 'sub/.env.local'])
  const turn = await world.turn('claude-1', () =>
    world.write({ '.env': null, 'sub/.env.local': 'b\n', '.env.new': 'n\n' }),
  )
  await world.undo([turn.id])
  expect([world.read('.env'), world.read('sub/.env.local')]).toEqual(['KEY=1\n', 'a\n'])
  // It is ignored, so it stays.
  expect(world.read('.env.new')).toBe('n\n')
  setKeptIgnored([])
  expect(readKeptIgnored()).toEqual([])
})

test('a directory that has become a link leads no undo out of the worktree', async () => {
  world.write({ 'd/a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'd/a.txt': 'changed\n' }))
  const outside = join(world.tmp, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'a.txt'), 'changed\n')
  rmSync(join(world.repo, 'd'), { recursive: true })
  symlinkSync(outside, join(world.repo, 'd'))
  await expect(world.undo([turn.id])).rejects.toMatchObject(conflict('d/a.txt'))
  expect(existsSync(join(outside, 'a.txt'))).toBe(true)
})

test('files of a directory that has become a repository of its own are not touched', async () => {
  world.write({ 'd/a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'd/a.txt': 'changed\n' }))
  world.gitIn(join(world.repo, 'd'), 'init', '-q')
  await expect(world.undo([turn.id])).rejects.toMatchObject(conflict('it belongs to another repository'))
})

test('a file on a file system that is mounted in the worktree is a conflict', async () => {
  world.write({ 'a.txt': 'a\n', 'mounted/x': '1\n' })
  world.commit()
  await world.turn('claude-1', () =>
    world.write({ 'a.txt': 'b\n', 'mounted/x': '2\n', 'mounted/new': 'n\n' }),
  )
  const script = `cd "$2" && mount -t tmpfs tmpfs mounted && echo 2 >mounted/x && echo n >mounted/new &&
    "$0" "$1" undo --yes; cat a.txt mounted/*`
  const { stdout } = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    process.execPath,
    stintBin,
    world.repo,
  ])
  expect(stdout).toContain('mounted/x: it is on another file system')
  expect(stdout).toMatch(/\nb\nn\n2\n$/)
})

test('what an editor saves while an undo compares the file is kept', async () => {
  const large = (byte: string): Buffer => Buffer.alloc(64 << 20, byte)
  const path = join(world.repo, 'large')
  world.write({ large: large('a'), saved: 'saved\n' })
  world.commit()
  for (let wasCompared = false; !wasCompared;) {
    world.write({ large: large('a') })
    await world.turn('claude-1', () => world.write({ large: large('b') }))
    const mark = join(findStore(world.repo)?.directory ?? '', 'undo.json')
    const undo = world.startStint(['undo', '--yes'], { cwd: world.repo })
    const state = { isRunning: true }
    const end = undo.finished.finally(() => (state.isRunning = false))
    const isOpen = (fd: string): boolean =>
      ifPossible(() => readlinkSync(`/proc/${undo.pid}/fd/${fd}`)) === path
    for (; state.isRunning && !wasCompared; await setImmediate())
      wasCompared = existsSync(mark) && listIfReadable(`/proc/${undo.pid}/fd`).some(isOpen)
    if (wasCompared) renameSync(join(world.repo, 'saved'), path)
    await end
  }
  expect(world.read('large')).toBe('saved\n')
})

test('a file in a directory that has to go is a conflict, if no point has it', async () => {
  world.write({ '.gitignore': '*.log\n', d: 'a file\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => {
    world.write({ d: null })
    world.write({ 'd/x': 'x\n', 'd/y.log': 'ignored\n' })
  })
  await expect(world.undo([turn.id])).rejects.toMatchObject(conflict('a directory is there'))
  expect(world.read('d/y.log')).toBe('ignored\n')
})

test('commits, another branch, a rebase and git gc in the middle of a turn leave it to be undone', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
  world.git('branch', 'old')
  world.write({ 'c.txt': 'c\n' })
  world.commit('c')
  world.write({ 'b.txt': 'not committed\n' })
  const before = world.files()
  const turn = await world.turn('claude-1', () => {
    world.write({ 'a.txt': 'changed\n', 'new.txt': 'new\n' })
    world.git('stash', '-q')
    world.git('checkout', '-q', 'old')
    world.write({ 'a.txt': 'on the other branch\n' })
    world.commit('other')
    world.git('rebase', '-q', 'main')
    world.git('branch', '-q', '-D', 'main')
    world.git('stash', 'clear')
    world.git('reflog', 'expire', '--expire=now', '--all')
    world.git('gc', '-q', '--prune=now')
  })
  const { sets } = await readChangeSets(world.repo, {})
  expect(sets.at(-1)).toMatchObject({ id: turn.id, hasMovedHead: true })
  await world.undo([turn.id])
  expect(world.files()).toEqual(before)
})

test('what a person repairs after an interruption counts as outside, and survives the undo of the turn', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
  const turn = await world.point('grant', 'claude-1')
  world.write({ 'a.txt': 'by claude\n', 'b.txt': 'broken by claude\n' })
  const lastActAt = world.afterTick()
  world.write({ 'b.txt': 'repaired by hand\n', 'mine.txt': 'mine\n' })
  await world.point('grant', 'codex-1', { lastActs: { 'claude-1': lastActAt } })
  await world.point('end', 'codex-1')
  const { store, sets } = await readChangeSets(world.repo, {})
  const changes = await readChanges(store, sets)
  const listed = sets.map(({ kind, session_id, end }, index) => [
    kind,
    session_id,
    end,
    changes[index]?.map(({ path }) => path).join(' '),
  ])
  expect(listed.slice(0, 2).sort()).toEqual([
    ['outside', undefined, 'seen', 'b.txt mine.txt'],
    ['turn', 'claude-1', 'unseen', 'a.txt'],
  ])
  await world.undo([turn.id])
  expect([world.read('a.txt'), world.read('b.txt'), world.read('mine.txt')]).toEqual([
    'a\n',
    'repaired by hand\n',
    'mine\n',
  ])
})

test('while another session holds the workspace, an undo is refused, and nothing is written', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  const lease = await acquireLease({ sessionId: 'other', workspace: world.repo, pid: null })
  await expect(world.undo([turn.id])).rejects.toMatchObject({
    code: 'LOCK_HELD',
    hint: expect.stringContaining('stint lock wait'),
  })
  expect(world.read('a.txt')).toBe('b\n')
  await lease.release()
  await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('a\n')
})

test('a claim on some paths counts only for these', async () => {
  world.write({ 'src/a': 'a\n', 'docs/b': 'b\n', c: 'c\n' })
  world.commit()
  const one = await world.point('grant', 'claude-1', { paths: ['src'] })
  const two = await world.point('grant', 'codex-1', { paths: ['docs'] })
  world.write({ 'src/a': 'A\n', 'docs/b': 'B\n', c: 'C\n' })
  await world.point('end', 'claude-1', { paths: ['src'] })
  await world.point('end', 'codex-1', { paths: ['docs'] })
  const { store, sets } = await readChangeSets(world.repo, {})
  const changes = await readChanges(store, sets)
  const pathsOf = (id: string): string[] | undefined =>
    changes[sets.findIndex((set) => set.id === id)]?.map(({ path }) => path)
  expect([pathsOf(one.id), pathsOf(two.id)]).toEqual([['src/a'], ['docs/b']])
  const outside = sets.filter(({ kind }) => kind === 'outside').map(({ id }) => pathsOf(id))
  expect(outside).toEqual([['c']])
})

test('the end of a turn whose grant has no point is an incomplete change set', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.turn('codex-1', () => world.write({ 'b.txt': 'b\n' }))
  world.write({ 'a.txt': 'A\n' })
  await world.point('end', 'claude-1')
  const { sets } = await readChangeSets(world.repo, {})
  expect(sets.map(({ session_id, isComplete }) => [session_id, isComplete])).toEqual([
    ['codex-1', true],
    ['claude-1', false],
  ])
})

test('undoing, redoing and undoing again is possible, and each says what is undone', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  const undone = async (): Promise<string[]> =>
    (await readChangeSets(world.repo, {})).sets.map((set) => `${set.kind} ${set.undone}`)
  const first = await world.undo([turn.id])
  expect(await undone()).toEqual(['turn yes', 'undo no'])
  await world.undo([first.id])
  expect(await undone()).toEqual(['turn no', 'undo yes', 'redo no'])
  await world.undo([turn.id])
  expect(await undone()).toEqual(['turn yes', 'undo yes', 'redo no', 'undo no'])
  expect(world.read('a.txt')).toBe('a\n')
})

test('a claim that a session keeps between its turns does not refuse an undo, and one within a turn does', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const lease = await acquireLease({ sessionId: 'claude-1', workspace: world.repo, pid: null })
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  const undo = await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('a\n')
  await world.point('grant', 'claude-1')
  await expect(world.undo([undo.id])).rejects.toMatchObject({ code: 'LOCK_HELD' })
  await lease.release()
})

test('line ends that git converts are given back as they were on disk', async () => {
  world.git('config', 'core.autocrlf', 'true')
  world.write({ 'a.txt': 'one\r\ntwo\r\n', 'b.txt': 'one\ntwo\n' })
  world.commit()
  const before = world.files()
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'one\n', 'b.txt': 'ONE\r\n' }))
  await world.undo([turn.id])
  expect(world.files()).toEqual(before)
})

test('where the file system keeps no modes and no cases, a point follows the settings of the user', async () => {
  world.git('config', 'core.fileMode', 'false')
  world.git('config', 'core.ignoreCase', 'true')
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => {
    chmodSync(join(world.repo, 'a.txt'), 0o755)
    world.write({ 'a.txt': 'b\n' })
  })
  expect(world.storeGit('config', 'core.ignorecase').trim()).toBe('true')
  expect(world.storeGit('ls-tree', '-r', turn.tree)).toMatch(/^100644 /)
  await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('a\n')
})

test('binary files that were changed since are a conflict, and are not merged', async () => {
  world.write({ bin: Buffer.from([0, 1]) })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ bin: Buffer.from([0, 2]) }))
  world.write({ bin: Buffer.from([0, 3]) })
  await expect(world.undo([turn.id])).rejects.toMatchObject(conflict('bin: the same lines'))
})

test('on a full disk a turn goes on without points, and an undo changes nothing until there is room', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const script = `points="$STINT_HOME/points"; mkdir -p -m 0700 "$points"
    mount -t tmpfs -o size=512k,mode=0700 tmpfs "$points"; cd "$2"
    "$0" "$1" run --lock --session first -- sh -c 'echo b > a.txt'
    cat /dev/zero > "$points/x" 2>/dev/null
    "$0" "$1" undo --yes; echo "undo $?"; cat a.txt
    "$0" "$1" run --lock --session second -- sh -c 'echo c > c.txt'; echo "run $?"; cat c.txt
    rm "$points/x"; "$0" "$1" undo first --yes; cat a.txt`
  const env = { ...world.env, STINT_OUTPUT: 'text' }
  const args = ['-c', script, process.execPath, stintBin, world.repo]
  const { stdout, stderr } = await world.startUnshared(['--mount'], 'sh', args, { env }).finished
  expect(stdout).toMatch(/^undo 12\nb\nrun 0\nc\nwrote 1 file\n.*\na\n$/s)
  expect(stderr).toMatch(/\(DISK_FULL\)/)
  expect(stderr).not.toContain('UNEXPECTED')
})

test('an undo of a path that the change set has not changed says so', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  await expect(world.undo([turn.id], { paths: ['b.txt'] })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'nothing was changed there: b.txt',
  })
})

test('files that are staged with undone contents are named, and none after the redo', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'gone.txt': 'g\n' })
  world.commit()
  const turn = await world.turn('claude-1', () =>
    world.write({ 'a.txt': 'A\n', 'b.txt': 'B\n', 'gone.txt': null }),
  )
  world.git('add', 'a.txt', 'gone.txt')
  const stint = async (...args: string[]) => {
    const { stdout } = await world.stint([...args, '--yes'], {
      cwd: world.repo,
      env: { STINT_OUTPUT: 'text' },
    })
    return stdout
  }
  expect(await stint('undo', turn.id)).toContain('(`git restore --staged`): a.txt, gone.txt\n')
  expect(await stint('redo')).not.toContain('staged')
})

test('what a killed undo has left in the store is removed by the next point', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.point('grant')
  const left = findStore(world.repo)?.file('temp') ?? ''
  mkdirSync(left)
  writeFileSync(join(left, '0'), 'contents of a merge')
  await world.point('end')
  expect(existsSync(left)).toBe(false)
})

test.each(['{"begun":{"id', '{"begun":{}}'])(
  'while the mark of an interrupted undo is damaged (%s), no undo begins, and status tells of it',
  async (text) => {
    world.write({ 'a.txt': 'a\n' })
    world.commit()
    const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
    const mark = findStore(world.repo)?.file('undo.json') ?? ''
    writeFileSync(mark, text)
    await expect(world.undo([turn.id])).rejects.toMatchObject({ code: 'POINT_DAMAGED' })
    const read = { cwd: world.repo, env: { STINT_OUTPUT: 'text' } }
    const { stderr } = await world.stint(['undo', '--continue'], read)
    expect(stderr).toMatch(/POINT_DAMAGED/)
    expect(stderr).toContain(`remove ${mark}`)
    expect((await world.stint(['status'], read)).stdout).toContain('was interrupted')
    rmSync(mark)
    await world.undo([turn.id])
    expect(world.read('a.txt')).toBe('a\n')
  },
)
