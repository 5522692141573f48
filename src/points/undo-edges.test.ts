import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'
import { acquireLease } from '../lease/index.ts'
import { readChanges, readChangeSets } from './index.ts'

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
    world.git('branch', '-q', '-D', 'main')
    world.git('reflog', 'expire', '--expire=now', '--all')
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
  await expect(world.undo([turn.id])).rejects.toMatchObject({ code: 'LOCK_HELD' })
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
  await world.undo([first.id], { isRedo: true })
  expect(await undone()).toEqual(['turn no', 'undo yes', 'undo no'])
  await world.undo([turn.id])
  expect(await undone()).toEqual(['turn yes', 'undo yes', 'undo no', 'undo no'])
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
