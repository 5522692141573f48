import { linkSync, lstatSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { du } from '../../../test/support/du.ts'
import { World } from '../../../test/support/world.ts'
import { SpaceCounter, measureTree } from './measure-tree.ts'
import { removeTree } from './remove-tree.ts'

/** Small files, a sparse one, one with two names, a link and directories: the two sizes differ. */
function makeTree(path: string): void {
  mkdirSync(join(path, 'inner/deep'), { recursive: true })
  for (let i = 0; i < 50; i++) writeFileSync(join(path, 'inner', String(i)), 'x')
  writeFileSync(join(path, 'sparse'), '')
  truncateSync(join(path, 'sparse'), 10 << 20)
  writeFileSync(join(path, 'twice'), 'y'.repeat(20_000))
  linkSync(join(path, 'twice'), join(path, 'inner/deep/again'))
  symlinkSync('/', join(path, 'root'))
}

test('a tree has the size that du finds: blocks, with directories, and each file once', async () => {
  await using world = new World()
  const tree = join(world.tmp, 'tree')
  makeTree(tree)
  const { bytes, disk_bytes } = measureTree(tree)
  expect(disk_bytes).toBe(du(tree))
  expect(bytes).toBe(50 + (10 << 20) + 20_000 + 1)
  expect(disk_bytes).toBeLessThan(bytes)
})

test('removing a tree frees what du found; a file that has another name elsewhere is still on the disk', async () => {
  await using world = new World()
  const tree = join(world.tmp, 'tree')
  makeTree(tree)
  writeFileSync(join(world.tmp, 'outside'), 'z'.repeat(30_000))
  linkSync(join(world.tmp, 'outside'), join(tree, 'inside'))
  const shared = lstatSync(join(tree, 'inside')).blocks * 512
  const before = measureTree(tree)
  expect(before.disk_bytes).toBe(du(tree))
  const freed = { bytes: before.bytes - 30_000, disk_bytes: before.disk_bytes - shared }
  expect(measureTree(tree, new SpaceCounter('last'))).toEqual(freed)
  expect(removeTree(tree, { measure: true })).toMatchObject({ ...freed, failures: [], complete: true })
})

test('two trees that share a file count it once, and free it with the last of them', async () => {
  await using world = new World()
  const trees = ['one', 'two'].map((name) => join(world.tmp, name))
  for (const tree of trees) mkdirSync(tree)
  writeFileSync(join(world.tmp, 'one/file'), 'x'.repeat(5000))
  linkSync(join(world.tmp, 'one/file'), join(world.tmp, 'two/file'))
  const bytesBy = (counter: SpaceCounter) => trees.map((tree) => measureTree(tree, counter).bytes)
  expect(bytesBy(new SpaceCounter())).toEqual([5000, 0])
  expect(bytesBy(new SpaceCounter('last'))).toEqual([0, 5000])
  expect(trees.map((tree) => removeTree(tree, { measure: true }).bytes)).toEqual([0, 5000])
})
