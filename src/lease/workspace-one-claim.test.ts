import { linkSync, mkdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LockWorld } from '../../test/support/lock-world.ts'
import { type Finished, stintBin } from '../../test/support/world.ts'
import { homeStore } from './file-register.ts'
import { acquireLease, type Lease } from './lease.ts'

let world: LockWorld
beforeEach(() => {
  world = new LockWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

/** Claims paths in a directory, or all of it, for a session. */
const claim = (sessionId: string, workspace: string, ...paths: string[]): Promise<Lease> =>
  acquireLease({
    sessionId,
    workspace,
    paths: paths.map((path) => join(workspace, path)),
    store: homeStore(world.env),
  })

const held = (by: string): object => ({
  code: 'LOCK_HELD',
  options: { facts: { holder: { session_id: by } } },
})

/** A directory outside of all repositories. */
const plain = (): string => join(world.tmp, 'plain')

test('without git, a claim on a directory and one on a directory in it exclude each other', async () => {
  const inner = join(plain(), 'sub')
  mkdirSync(join(inner, 'deep'), { recursive: true })
  const outer = await claim('a', plain())
  await expect(claim('b', inner)).rejects.toMatchObject(held('a'))
  await expect(claim('b', inner, 'deep')).rejects.toMatchObject(held('a'))
  await (await claim('a', inner)).release()
  await outer.release()

  const b = await claim('b', inner)
  await expect(claim('a', plain())).rejects.toMatchObject(held('b'))
  const beside = await claim('a', plain(), 'other')
  await expect(claim('a', plain(), 'sub/file')).rejects.toMatchObject(held('b'))
  // What it had before the refusal is still its own.
  expect(await beside.check()).toBe(true)
  await expect(claim('c', plain(), 'other')).rejects.toMatchObject(held('a'))
  await b.release()
  expect((await claim('a', plain(), 'sub/file')).fence).toBeGreaterThan(beside.fence)
})

test('a repository in a directory without git is claimed apart from it', async () => {
  const repository = join(plain(), 'repository')
  mkdirSync(join(repository, '.git'), { recursive: true })
  const outer = await claim('a', plain())
  const inner = await claim('b', repository)
  expect([await outer.release(), await inner.release()]).toEqual([true, true])
})

test('a directory that becomes a repository, and one that stops being one, are compared as what they are', async () => {
  const inner = join(plain(), 'sub')
  mkdirSync(inner, { recursive: true })
  const outer = await claim('a', plain())
  await expect(claim('b', inner)).rejects.toMatchObject(held('a'))
  mkdirSync(join(inner, '.git'))
  await (await claim('b', inner)).release()
  rmdirSync(join(inner, '.git'))
  await expect(claim('b', inner)).rejects.toMatchObject(held('a'))
  await outer.release()
})

test('a claim of a dead process on the directory above is removed, and does not come back', async () => {
  const inner = join(plain(), 'sub')
  mkdirSync(inner, { recursive: true })
  const sleeper = world.start('sleep', ['300'])
  const store = homeStore(world.env)
  const dead = await acquireLease({ sessionId: 'a', workspace: plain(), pid: sleeper.pid, store })
  sleeper.child.kill('SIGKILL')
  await sleeper.finished
  const lease = await claim('b', inner)
  expect(await dead.refresh()).toBe(false)
  expect(await lease.release()).toBe(true)
})

test('a link whose target is missing is claimed as its target', async () => {
  mkdirSync(join(world.workspace, 'd'))
  symlinkSync('../target', join(world.workspace, 'd/link'))
  symlinkSync('d/link', join(world.workspace, 'chain'))
  await claim('a', world.workspace, 'target')
  for (const path of ['d/link', 'chain', 'target'])
    await expect(claim('b', world.workspace, path)).rejects.toMatchObject(held('a'))
})

// A hard link with the other case looks like a file system without case: both names are one file.
test('where a directory does not tell cases apart, a file has one claim in any case, even if it is new', async () => {
  const directory = join(world.workspace, 'src')
  mkdirSync(directory)
  writeFileSync(join(directory, 'f'), '')
  linkSync(join(directory, 'f'), join(directory, 'F'))
  await claim('a', world.workspace, 'src/f', 'src/New')
  for (const path of ['src/F', 'src/NEW', 'src/new/below'])
    await expect(claim('b', world.workspace, path)).rejects.toMatchObject(held('a'))
  // The directory above tells cases apart.
  await (await claim('b', world.workspace, 'SRC/f')).release()
})

test('an empty workspace whose name has no letters ignores case if the directory above it does', async () => {
  const above = join(world.workspace, 'above')
  mkdirSync(join(above, '123'), { recursive: true })
  writeFileSync(join(above, 'f'), '')
  linkSync(join(above, 'f'), join(above, 'F'))
  await claim('a', join(above, '123'), 'new')
  await expect(claim('b', join(above, '123'), 'NEW')).rejects.toMatchObject(held('a'))
})

// Without the table of mounts, which would tell, a bind mount looks like another case of a name.
test('where directories ignore case, a workspace has one claim in any case of its name', async () => {
  const script = `mkdir "$2/WORK" && mount --bind "$3" "$2/WORK" && mount --bind /dev/null /proc/$$/mountinfo &&
    exec "$0" "$1" lock acquire --json --session "$4" --workspace "$5"`
  const acquire = async (session: string, workspace: string): Promise<Finished> => {
    const args = ['-c', script, process.execPath, stintBin, world.tmp, world.workspace, session, workspace]
    const result = await world.unshare(['--mount'], 'sh', args)
    rmdirSync(join(world.tmp, 'WORK'))
    return result
  }
  const granted = (await acquire('a', world.workspace)).envelope()
  const refused = (await acquire('b', join(world.tmp, 'WORK'))).envelope()
  expect(granted.data).toMatchObject({ acquired: true, workspace: join(world.tmp, 'WORK') })
  expect(refused.error).toMatchObject({ code: 'LOCK_HELD', holder: { session_id: 'a' } })
})

test('a directory of a repository that is also mounted elsewhere is claimed with the repository', async () => {
  const script = `mkdir -p "$3/.git" "$3/src/deep" "$2/elsewhere" && mount --bind "$3/src" "$2/elsewhere" &&
    "$0" "$1" lock acquire --session a --workspace "$3" --json > /dev/null
    "$0" "$1" lock acquire --session b --workspace "$2/elsewhere" --json
    "$0" "$1" lock acquire --session b --workspace "$2/elsewhere/deep" --path new --json`
  const args = ['-c', script, process.execPath, stintBin, world.tmp, world.workspace]
  const { stdout } = await world.unshare(['--mount'], 'sh', args)
  const answers = stdout.trim().split('\n')
  for (const answer of answers) expect(JSON.parse(answer)).toMatchObject({ error: { code: 'LOCK_HELD' } })
  expect(answers).toHaveLength(2)
})

// As two directories cannot share an inode, bind mounts give one of them two names that differ in case only.
test.each(['work-again', 'WORK', 'sub/deep/work'])(
  'a workspace has one claim by each of its paths: it is also mounted at %s',
  async (name) => {
    const script = `mkdir -p "$2/${name}" "$3/src" && mount --bind "$3" "$2/${name}" &&
      "$0" "$1" lock acquire --session a --path src --workspace "$3" --json > /dev/null
      "$0" "$1" lock acquire --session b --workspace "$2/${name}" --path src/f --json
      "$0" "$1" lock acquire --session b --workspace "$2/${name}" --path other --json`
    const args = ['-c', script, process.execPath, stintBin, world.tmp, world.workspace]
    const { stdout } = await world.unshare(['--mount'], 'sh', args)
    const [refused, granted] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { data: unknown; error: unknown })
    expect(refused?.error).toMatchObject({ code: 'LOCK_HELD', holder: { session_id: 'a' } })
    expect(granted?.data).toMatchObject({ acquired: true, workspace: world.workspace })
  },
)
