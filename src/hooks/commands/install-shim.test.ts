import { chmodSync, existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { contentOf, HookUser } from '../../../test/support/hook-user.ts'
import { type Finished, until } from '../../../test/support/world.ts'

/** A user with the shim first on PATH, and a repository with one commit. */
class ShimUser extends HookUser {
  readonly shim = join(this.env.STINT_HOME ?? '', 'git-shim/git')

  async make(...options: string[]): Promise<void> {
    await this.git('init')
    await this.git('commit', '--allow-empty', '-m', 'first')
    await this.change('install', 'git', '--shim', ...options)
    this.env.PATH = `${dirname(this.shim)}:${this.env.PATH}`
  }

  async hold(): Promise<void> {
    const { code } = await this.stint(['lock', 'acquire', '--session', 'holder'], { cwd: this.project })
    if (code !== 0) throw new Error('not held')
  }

  run(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = this.project): Promise<Finished> {
    return this.start('git', args, { cwd, env }).finished
  }
}

test('the shim refuses what changes something before git starts, and lets its holder and a bypass through', async () => {
  await using world = new ShimUser()
  await world.make()
  writeFileSync(join(world.project, 'u.txt'), '')
  expect((await world.run(['add', 'u.txt'])).code).toBe(0)
  await world.hold()
  expect(await world.run(['clean', '-fdx'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/held by holder [^]*\nNothing was changed\.\n[^]*STINT_BYPASS=1/),
  })
  expect(await world.run(['status', '--short'])).toMatchObject({ code: 0, stdout: 'A  u.txt\n', stderr: '' })
  expect((await world.run(['ls-remote', '.'])).code).toBe(0)
  expect((await world.run(['rm', '--cached', 'u.txt'], { STINT_SESSION_ID: 'holder' })).code).toBe(0)
  expect((await world.run(['add', 'u.txt'], { STINT_BYPASS: '1' })).code).toBe(0)
})

test('git inside `stint run --lock` passes the shim and the guard, and git outside of it does not', async () => {
  await using world = new ShimUser()
  await world.make()
  await world.change('install', 'git')
  const go = join(world.tmp, 'go')
  const script = `until [ -e '${go}' ]; do sleep 0.02; done; git commit -q --allow-empty -m inside && git clean -fdq`
  await world.run(['config', 'user.name', 't'])
  await world.run(['config', 'user.email', 't@example.org'])
  const inside = world.startStint(['run', '--lock', '--', 'sh', '-c', script], { cwd: world.project })
  await until('held', async () => (await world.run(['tag', '-f', 'x'])).code === 1)
  writeFileSync(go, '')
  expect(await inside.finished).toMatchObject({ code: 0 })
  expect((await world.run(['log', '-1', '--format=%s'])).stdout).toBe('inside\n')
})

test('the shim follows -C, --git-dir and --work-tree to the workspace that git would change', async () => {
  await using world = new ShimUser()
  await world.make()
  await world.hold()
  const elsewhere = join(world.tmp, 'elsewhere')
  mkdirSync(elsewhere)
  for (const args of [
    ['-C', world.project, 'tag', 'x'],
    ['-C', '..', '-C', 'project', 'tag', 'x'],
    [`--git-dir=${world.project}/.git`, 'tag', 'x'],
    ['--work-tree', world.project, '--git-dir', join(world.project, '.git'), 'tag', 'x'],
  ])
    expect((await world.run(args, {}, elsewhere)).code, args.join(' ')).toBe(1)
  expect((await world.run(['init', '-q'], {}, elsewhere)).code).toBe(0)
  expect((await world.run(['tag', '-l'])).stdout).toBe('')
})

test('the shim is an executable of the user alone, is installed once, and is removed with its directory', async () => {
  await using world = new ShimUser()
  mkdirSync(world.env.STINT_HOME ?? '', { mode: 0o700 })
  await world.make()
  const kept = (): string[] =>
    Object.keys(contentOf(world.env.STINT_HOME ?? '')).filter((name) => /shim/.test(name))
  expect(lstatSync(world.shim).mode & 0o777).toBe(0o700)
  expect(lstatSync(dirname(world.shim)).mode & 0o777).toBe(0o700)
  const again = await world.hook(['install', 'git', '--shim'])
  expect(again.envelope().data).toMatchObject({
    hooks: [{ outcome: 'unchanged', place: 'user', path: world.shim }],
    next: [expect.stringContaining(`export PATH=${dirname(world.shim)}:"$PATH"`), expect.any(String)],
  })
  expect(await world.change('uninstall', 'git')).toEqual([])
  expect(await world.change('uninstall', 'git', '--shim')).toMatchObject([{ outcome: 'removed' }])
  expect(kept()).toEqual([])
  mkdirSync(dirname(world.shim))
  writeFileSync(world.shim, 'mine')
  expect((await world.hook(['install', 'git', '--shim'])).envelope().error?.code).toBe('NAME_TAKEN')
  expect(await world.change('uninstall')).toEqual([])
  expect(world.read(world.shim)).toBe('mine')
})

test('the doctor tries the shim, and says if another git comes first on PATH', async () => {
  await using world = new ShimUser()
  await world.make('--fail-closed')
  const path = world.env.PATH ?? ''
  world.env.PATH = path.replaceAll(`${dirname(world.shim)}:`, '')
  const doctor = () => world.stint(['doctor', '--json'], { cwd: world.project })
  const found = await doctor()
  expect([found.code, found.envelope().error?.code]).toEqual([4, 'DOCTOR_FOUND'])
  expect(found.stdout).toMatch(/your PATH has [^"]*\/git before it/)
  expect(found.stdout).toContain('add this line to the profile of your shell')
  world.env.PATH = path
  expect(await doctor()).toMatchObject({ code: 0 })
  expect((await world.hook(['status', 'git'])).envelope().data).toMatchObject({
    hooks: [{ path: world.shim, state: 'installed', choices: { failClosed: true } }],
  })
  writeFileSync(world.shim, world.read(world.shim).replace('git shim', 'git shim-of-mine'))
  expect((await doctor()).stdout).toContain('differs from what this version of stint writes')
  chmodSync(world.shim, 0o600)
  expect(await world.change('install', 'git', '--shim')).toMatchObject([{ outcome: 'updated' }])
})

test.each([
  [['install', '--shim']],
  [['install', 'claude', '--shim']],
  [['install', 'git', '--shim', '--project']],
  [['uninstall', '--shim']],
])('%j is a mistake: the shim is for git alone', async (args) => {
  await using world = new HookUser()
  const { code, ...finished } = await world.hook(args)
  expect([code, finished.envelope().error?.code]).toEqual([2, 'ARG_ERROR'])
  expect(existsSync(join(world.env.STINT_HOME ?? '', 'git-shim'))).toBe(false)
})
