import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystemStore } from '../src/index.ts'
import { commandHosts, HookWorld } from './support/hook-host.ts'
import { treeHash } from './support/tree-hash.ts'
import { until, World } from './support/world.ts'

/** A home with claims and sessions, but without the mark of this format. */
function plantOtherHome(home: string): void {
  mkdirSync(join(home, 'locks'), { recursive: true, mode: 0o700 })
  mkdirSync(join(home, 'sessions/mine'), { recursive: true, mode: 0o700 })
}

test.each([
  ['lock status'],
  ['lock acquire --session a'],
  ['sessions list'],
  ['sessions append mine --create --type note'],
  ['sweep --scope sessions'],
])('stint %s refuses a home of another format, and changes nothing in it', async (words) => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  plantOtherHome(home)
  const before = treeHash(home)
  const { code, ...refused } = await world.stint([...words.split(' '), '--json'], { cwd: world.tmp })
  expect([code, refused.envelope().error]).toMatchObject([
    4,
    { code: 'HOME_FORMAT', suggestion: expect.stringContaining(`mv ${home} ${home}-old`) },
  ])
  expect(treeHash(home)).toBe(before)
})

test('the page is not started on a home of another format', async () => {
  await using world = new World()
  plantOtherHome(join(world.tmp, 'home'))
  const { code, stdout, stderr } = await world.stint(['ui', '--no-open'])
  expect([code, stdout]).toEqual([4, ''])
  expect(stderr).toContain('(HOME_FORMAT)')
})

test('the library refuses a home of another format, whether it is the default or named', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  plantOtherHome(home)
  expect(() => filesystemStore({ home })).toThrow(expect.objectContaining({ code: 'HOME_FORMAT' }))
  await using user = new World({ STINT_HOME: home })
  const program = `
    import { acquireLease, filesystemStore } from ${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))}
    const codeOf = (act) => Promise.resolve().then(act).then(() => 'none', (error) => error.code)
    console.log(await codeOf(() => acquireLease({ sessionId: 'a', resource: 'x' })), await codeOf(() => filesystemStore()))`
  const { stdout } = await user.start(process.execPath, ['--input-type=module', '-e', program]).finished
  expect(stdout).toBe('HOME_FORMAT HOME_FORMAT\n')
})

test.each(commandHosts)(
  'a hook of %s notes a home of another format, and lets the call pass',
  async (host) => {
    await using world = new HookWorld()
    plantOtherHome(world.home)
    const open = await world.hook(host, 'pre', { session: 'first' })
    expect(open).toMatchObject({ allowed: true, ended: { code: 0, stdout: '', stderr: '' } })
    expect(readFileSync(join(world.home, 'hook.log'), 'utf8')).toContain(
      'was made by another version of stint',
    )
    expect(readdirSync(join(world.home, 'locks'))).toEqual([])
    const closed = await world.hook(host, 'pre', { session: 'first', choices: { failClosed: true } })
    expect(closed.allowed).toBe(false)
  },
)

test('the doctor and the status name a home of another format, with the command that moves it away', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  plantOtherHome(home)
  const findings = [
    ((await world.stint(['doctor', '--json'])).envelope().data as { checks: object[] }).checks,
    ((await world.stint(['status', '--json'])).envelope().data as { findings: object[] }).findings,
  ]
  for (const checks of findings)
    expect(checks).toContainEqual(
      expect.objectContaining({ name: 'home', level: 'fail', fix: expect.stringContaining(`mv ${home}`) }),
    )
})

test('the status shows the path of a home of another format', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  plantOtherHome(home)
  expect((await world.stint(['status', '--json'])).envelope().data).toMatchObject({ home })
})

test('a home with the marks of two formats is refused', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  mkdirSync(home, { mode: 0o700 })
  for (const mark of ['format-1', 'format-2']) writeFileSync(join(home, mark), '')
  const refused = await world.stint(['lock', 'status', '--json'], { cwd: world.tmp })
  expect(refused.envelope().error).toMatchObject({ code: 'HOME_FORMAT' })
})

test('of two versions that make a home at the same moment, at most one uses it', async () => {
  await using world = new World()
  writeFileSync(join(world.tmp, 'package.json'), '{"type":"module"}')
  // Both make 200 homes, and wait for each other before each of them.
  const makers = ['format-1', 'format-2'].map((mark, index, marks) => {
    const base = join(world.tmp, `base-${mark}`)
    cpSync(join(import.meta.dirname, '../dist/base'), base, { recursive: true })
    const code = join(base, 'fs/home.js')
    writeFileSync(code, readFileSync(code, 'utf8').replace('format-1', mark))
    const program = `
      import { existsSync, writeFileSync } from 'node:fs'
      import { ensureHome } from ${JSON.stringify(code)}
      const ends = []
      for (let round = 0; round < 200; round++) {
        writeFileSync('at-' + round + '-${mark}', '')
        while (!existsSync('at-' + round + '-${marks[1 - index]}'));
        try {
          ensureHome(process.cwd() + '/home-' + round)
          ends.push('made')
        } catch (error) {
          ends.push(error.code)
        }
      }
      console.log(JSON.stringify(ends))`
    return world.start(process.execPath, ['--input-type=module', '-e', program], { cwd: world.tmp }).finished
  })
  const [first = [], second = []] = (await Promise.all(makers)).map(
    ({ stdout }) => JSON.parse(stdout) as string[],
  )
  const rounds = first.map((end, round) => [end, second[round]].sort().join(' and '))
  expect(rounds).toHaveLength(200)
  expect(rounds.filter((ends) => !/^HOME_FORMAT and (HOME_FORMAT|made)$/.test(ends))).toEqual([])
})

test('of processes that make the home at the same moment, none takes it for one of another format', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const go = join(world.tmp, 'go')
  const program = `
    import { existsSync } from 'node:fs'
    import { acquireLease, filesystemStore } from ${JSON.stringify(join(import.meta.dirname, '../dist/index.js'))}
    console.log('ready')
    while (!existsSync(${JSON.stringify(go)}));
    const lease = await acquireLease({ sessionId: 'me', resource: 'r' + process.pid })
    await (await filesystemStore().create({})).close()
    await lease.release()`
  const starts = Array.from({ length: 6 }, () =>
    world.start(process.execPath, ['--input-type=module', '-e', program]),
  )
  for (const { output } of starts) await until('it is ready', () => output().stdout === 'ready\n')
  expect(existsSync(home)).toBe(false)
  writeFileSync(go, '')
  for (const { finished } of starts) expect(await finished).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(home)).toContain('format-1')
})
