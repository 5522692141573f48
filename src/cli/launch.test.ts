import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPrograms } from '../../test/support/copy-tree.ts'
import { openToAll, stintBin, unprivileged, World } from '../../test/support/world.ts'

/** An installation of its own, so that no other test makes its caches. */
function install(world: World) {
  const directory = join(world.tmp, 'bin')
  copyPrograms(dirname(stintBin), directory)
  // A run loads the sweep only if the run before it has not cleaned up yet.
  const caches = () =>
    readdirSync(directory).filter((name) => name.includes('.cache') && !name.startsWith('sweep-engine'))
  const stint = (args: string[], options = {}) =>
    world.start(process.execPath, [join(directory, 'stint.cjs'), ...args], options).finished
  return { directory, caches, stint }
}

test('the first run caches its compiled code for the next ones, and several at once make one cache', async () => {
  await using world = new World()
  const { caches, stint } = install(world)
  await stint(['--version'])
  expect(caches()).toEqual([])
  const results = await Promise.all(Array.from({ length: 6 }, () => stint(['run', '--', 'echo', 'hi'])))
  expect(results.map(({ stdout }) => stdout)).toEqual(Array(6).fill('hi\n'))
  expect(caches()).toEqual([expect.stringMatching(/^main-run-[0-9a-f]{16}-v\d+.*\.cache$/)])
  expect((await stint(['run', '--', 'echo', 'again'])).stdout).toBe('again\n')
})

test('each command has caches of its own for the files that it loads, even if it fails', async () => {
  await using world = new World()
  const { caches, stint } = install(world)
  const names = (): string[] =>
    caches()
      .map((name) => name.replace(/-[0-9a-f]{16}-.*/, ''))
      .sort()
  expect((await stint(['temp', 'list'])).code).toBe(0)
  expect((await stint(['temp', 'why', '/nothing'])).code).toBe(5)
  expect(names()).toEqual(['commands-temp', 'main'])
  const again = await stint(['temp', 'why', '/nothing'])
  expect(again.envelope().error?.code).toBe('NOT_FOUND')
  await stint(['run', '--record', '--session', 'mine', '--', 'true'])
  expect((await stint(['status'])).envelope().data).toMatchObject({ sessions: { total: 1 } })
  expect(names()).toEqual(['commands-run', 'commands-status', 'commands-temp', 'main', 'main-run'])
  expect((await stint(['status'])).envelope().data).toMatchObject({ sessions: { total: 1 } })
})

test('a command that starts no other program does not load what Node needs for it', async () => {
  await using world = new World()
  const { stint } = install(world)
  const list = join(world.tmp, 'list.cjs')
  const loads = "process.moduleLoadList.includes('NativeModule child_process')"
  writeFileSync(list, `process.on('exit', () => process.stderr.write(\`loaded ${'${'}${loads}}\`))`)
  const env = { NODE_OPTIONS: `--require ${list}` }
  expect((await stint(['status'], { env })).stderr).toBe('loaded false')
  expect((await stint(['run', '--', 'true'], { env })).stderr).toContain('loaded true')
})

test('what every command loads has no code of leases, and is small: rarer commands are files of their own', () => {
  const code = readFileSync(join(dirname(stintBin), 'main.cjs'), 'utf8')
  // The register's name for the directories of waiters.
  expect(code).not.toContain('.waiters-')
  expect(code.length).toBeLessThan(100_000)
})

test('an invalid cache, or a directory where none can be made, does no harm', async () => {
  await using world = new World({}, openToAll)
  const { directory, caches, stint } = install(world)
  await stint(['run', '--', 'true'])
  const [cache = ''] = caches()
  for (const content of ['', 'garbage', '\0'.repeat(5000)]) {
    writeFileSync(join(directory, cache), content)
    expect(await stint(['run', '--', 'echo', 'hi'])).toMatchObject({ code: 0, stdout: 'hi\n', stderr: '' })
  }
  await using other = new World({}, openToAll)
  const elsewhere = install(other)
  chmodSync(elsewhere.directory, 0o555)
  chmodSync(world.tmp, 0o777)
  chmodSync(dirname(elsewhere.directory), 0o755)
  const args = [join(elsewhere.directory, 'stint.cjs'), 'run', '--', 'echo', 'hi']
  const ran = await world.start(process.execPath, args, { cwd: '/', ...unprivileged }).finished
  expect(ran).toMatchObject({ code: 0, stdout: 'hi\n' })
  expect(elsewhere.caches()).toEqual([])
})
