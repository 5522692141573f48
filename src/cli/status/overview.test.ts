import { randomUUID } from 'node:crypto'
import { lstatSync, mkdirSync, rmSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HookUser } from '../../../test/support/hook-user.ts'
import { deadPid, plant } from '../../../test/support/plant.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { type Finished, stintBin, until } from '../../../test/support/world.ts'
import { listIfReadable } from '../../base/fs/exists.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import type { OverviewData } from './overview.ts'

const dayMs = 86_400_000

/** A user with Claude Code from npm, old transcripts, and a repository. */
class User extends HookUser {
  readonly home = join(this.tmp, 'home')
  readonly projects = join(this.user, '.claude/projects/-project')

  async prepare(): Promise<void> {
    const directory = join(this.tmp, 'lib/node_modules/@anthropic-ai/claude-code')
    mkdirSync(join(directory, 'bin'), { recursive: true })
    mkdirSync(this.projects, { recursive: true })
    writeFileSync(join(directory, 'package.json'), '{"name":"@anthropic-ai/claude-code","version":"2.1.325"}')
    writeFileSync(join(directory, 'bin/claude'), '#!/bin/sh\n', { mode: 0o755 })
    symlinkSync(join(directory, 'bin/claude'), join(this.bin, 'claude'))
    await this.git('init', '-q')
  }

  plantTranscript(ageDays: number): string {
    const session = randomUUID()
    const path = join(this.projects, `${session}.jsonl`)
    writeFileSync(path, `${JSON.stringify({ type: 'user', cwd: this.project, message: 'x' })}\n`)
    const at = (Date.now() - ageDays * dayMs) / 1000
    utimesSync(path, at, at)
    return session
  }

  show(...args: string[]): Promise<Finished> {
    return this.stint(args, { cwd: this.project, env: { STINT_OUTPUT: '' } })
  }

  async data(): Promise<OverviewData> {
    return (await this.stint(['--json'], { cwd: this.project })).envelope().data as OverviewData
  }
}

let user: User
beforeEach(async () => {
  user = new User()
  await user.prepare()
})
afterEach(() => user[Symbol.asyncDispose]())

/** Everything about the files of a user that a writer would change. */
const traces = (): string[] =>
  readdirSync(user.tmp, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const { mtimeMs, ctimeMs, size, ino } = lstatSync(join(user.tmp, name))
      return [name, mtimeMs, ctimeMs, size, ino].join(' ')
    })

test('stint alone shows the agents, what is at risk and one next step, on one screen', async () => {
  for (const age of [1, 25, 26]) user.plantTranscript(age)
  mkdirSync(join(user.projects, randomUUID(), 'subagents'), { recursive: true })
  const { code, stdout, stderr } = await user.show()
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^Agents +Claude Code 2\.1\.325 {2}no hooks$/m)
  expect(stdout).toMatch(/^Protection +restore points off$/m)
  expect(stdout).toMatch(/^ +vault off: no conversation is kept$/m)
  expect(stdout).toMatch(
    /^At risk +Claude Code deletes 2 conversations within a week that you have no copy of$/m,
  )
  expect(stdout).toMatch(/^ +Claude Code has 1 more without a copy$/m)
  expect(stdout).toMatch(/^ +Claude Code has lost 1 conversation already: only traces are left$/m)
  expect(stdout).toMatch(/^Next +stint init$/m)
  expect(stdout.split('\n').length).toBeLessThan(24)
})

test('a conversation that its agent has lost is shown with the minute at which it was last there', async () => {
  user.plantTranscript(2)
  await user.stint(['vault', 'sync'])
  const before = await user.data()
  expect(before.risks).toMatchObject({ agents: [{ lost: 0, lost_after: null }] })
  rmSync(user.projects, { recursive: true })
  const { risks } = await user.data()
  const [survey] = risks?.agents ?? []
  expect(survey?.lost).toBe(1)
  // The sync that saw it last: when it began, or when it copied the conversation.
  expect(Math.abs((survey?.lost_after ?? 0) - (survey?.synced_at ?? 0))).toBeLessThan(60_000)
  expect((await user.show()).stdout).toMatch(
    /Claude Code has lost 1 conversation that the vault still has,\s+last there\s+20\d\d-\d\d-\d\d\s+\d\d:\d\d$/m,
  )
})

test('it fits on a screen of 80 columns and 24 rows', async () => {
  for (const age of [1, 25, 26]) user.plantTranscript(age)
  await user.stint(['run', '--lock', '--', 'sh', '-c', 'echo 1 > file'], { cwd: user.project })
  symlinkSync(stintBin, join(user.bin, 'stint'))
  await using terminal = await Terminal.open(user)
  terminal.resize(80, 24)
  terminal.enter(`cd ${user.project}; clear; HOME=${user.user} stint`)
  await terminal.shows(/^Next +stint init\n[^]*\[0\] ready>$/m)
  expect(terminal.screen()).toMatch(/^Agents +Claude Code 2\.1\.325/)
})

test('it changes no file, and leaves no process', async () => {
  for (const age of [1, 25]) user.plantTranscript(age)
  await user.stint(['hook', 'install', 'claude'])
  await user.stint(['vault', 'sync'], { cwd: user.project })
  await user.stint(['run', '--lock', '--', 'sh', '-c', 'echo 1 > file'], { cwd: user.project })
  const trash = join(user.root, 'trash')
  await until('the run is gone', () => !listIfReadable(trash).some((name) => name.startsWith('req_')))
  plant(user, { ...ownIdentity(), pid: deadPid })
  const before = traces()
  await user.show()
  await user.data()
  expect(traces()).toEqual(before)
  expect(user.processes()).toEqual([])
})

test('hooks, vault, changes and what dead runs left are shown, and the next step follows', async () => {
  user.plantTranscript(25)
  await user.stint(['hook', 'install', 'claude'])
  await user.stint(['vault', 'sync'])
  await user.stint(['run', '--lock', '--session', 'ada', '--', 'sh', '-c', 'echo 1 > file'], {
    cwd: user.project,
  })
  plant(user, { ...ownIdentity(), pid: deadPid })
  const data = await user.data()
  expect(data.agents).toEqual([
    expect.objectContaining({ agent: 'claude', version: '2.1.325', hooks: 'installed', trust: null }),
  ])
  expect(data.risks).toMatchObject({ vault: true, agents: [{ agent: 'claude', kept: 1, new: 0, due: 0 }] })
  expect(data.changes).toEqual([
    expect.objectContaining({ session_id: 'ada', workspace: user.project, files: 1, undone: 'no' }),
  ])
  expect(data.left_behind).toMatchObject({ worktrees: [] })
  expect(data.next).toMatchObject({ step: 'stint sweep' })
  const { stdout } = await user.show()
  expect(stdout).toMatch(/^Agents +Claude Code 2\.1\.325 {2}hooks in$/m)
  expect(stdout).toMatch(/^Left behind +1 entry of dead runs/m)
  expect(stdout).toMatch(new RegExp(`stint undo ${data.changes?.[0]?.id}$`, 'm'))
  await user.stint(['sweep'])
  // Other processes of the machine may have left something, too.
  expect((await user.data()).next.step).not.toBe('stint sweep')
})

test('hooks that take no restore points are told apart', async () => {
  await user.stint(['hook', 'install', 'claude', '--no-undo'])
  const { stdout } = await user.show()
  expect(stdout).toMatch(/^Agents +Claude Code 2\.1\.325 {2}hooks in, without restore points$/m)
  expect(stdout).toMatch(/^Protection +restore points off$/m)
})

test('sessions that hold a workspace are shown while they work', async () => {
  const running = user.startStint(
    [
      'run',
      '--lock',
      '--session',
      'ada',
      '--purpose',
      'tidy up',
      '--',
      'sh',
      '-c',
      'echo up; exec sleep 1000',
    ],
    { cwd: user.project },
  )
  await until('it runs', () => running.output().stdout.includes('up'))
  const { stdout } = await user.show()
  expect(stdout).toMatch(/^ +ada +working +\d+m?s? +\S*project +tidy up$/m)
})

test('an agent that works is not shown as idle, also if a launcher has started it', async () => {
  const launcher = join(user.tmp, 'codex')
  const run = `'${process.execPath}' '${stintBin}' run --lock --session bob -- sh -c 'echo up; exec sleep 1000'`
  writeFileSync(launcher, `#!/bin/sh\n${run}\ntrue\n`, { mode: 0o755 })
  const running = user.start(launcher, [], { cwd: user.project })
  await until('it runs', () => running.output().stdout.includes('up'))
  const { data } = (await user.stint(['--json'])).envelope() as { data: OverviewData }
  expect(data.running).toContainEqual(expect.objectContaining({ pid: running.pid, is_busy: true }))
  expect((await user.show()).stdout).not.toMatch(/^ +Codex +idle +\S+ +\S*project$/m)
})

test('a home that cannot be used is the next step, and the rest is shown', async () => {
  const { code, stdout } = await user.stint([], { env: { STINT_HOME: 'relative', STINT_OUTPUT: '' } })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^At risk +…$/m)
  expect(stdout).toMatch(/^Next +\S/m)
})

test('without agents, it points to the demo', async () => {
  await using other = new HookUser()
  const { stdout } = await other.stint([], { cwd: other.project, env: { STINT_OUTPUT: '' } })
  expect(stdout).toMatch(/^Agents +none found$/m)
  expect(stdout).toMatch(/^Next +stint demo$/m)
})
