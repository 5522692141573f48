import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const listed = (tree: string): string[] =>
  world.storeGit('ls-tree', '-r', '--name-only', tree).trim().split('\n')

test('a point has what is on disk: tracked, changed, deleted and untracked files, and nothing ignored', async () => {
  world.write({ 'a.txt': 'one\n', 'b.txt': 'two\n', '.gitignore': 'ignored/\n', 'gone.txt': 'x\n' })
  world.commit()
  world.write({ 'a.txt': 'changed\n', 'gone.txt': null, 'new/file.txt': 'new\n', 'ignored/file': 'x' })
  const { tree } = await world.point('grant')
  expect(listed(tree)).toEqual(['.gitignore', 'a.txt', 'b.txt', 'new/file.txt'])
  expect(world.storeGit('cat-file', 'blob', `${tree}:a.txt`)).toBe('changed\n')
  const again = await world.point('end')
  expect(again.tree).toBe(tree)
  world.write({ 'a.txt': 'changed again\n' })
  const third = await world.point('grant')
  expect(world.storeGit('cat-file', 'blob', `${third.tree}:a.txt`)).toBe('changed again\n')
})

test('taking points changes no byte of the git directory of the user', async () => {
  world.write({ 'a.txt': 'one\n', 'b.txt': 'two\n' })
  world.commit()
  world.write({ 'b.txt': 'stashed\n' })
  world.git('stash')
  world.write({ 'a.txt': 'staged\n', 'new.txt': 'new\n' })
  world.git('add', 'a.txt')
  const before = world.gitState()
  await world.point('grant')
  world.write({ 'a.txt': 'more\n', 'b.txt': null })
  await world.point('end')
  expect(world.gitState()).toEqual(before)
})
