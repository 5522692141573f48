import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookBin } from '../../test/support/hook-host.ts'
import { callEvent, hookScript, ScriptWorld, shells } from '../../test/support/hook-script.ts'
import { type Running, until } from '../../test/support/world.ts'
import { guardText } from './install/guard.ts'
import { shimFile } from './install/shim.ts'
import { hosts } from './hosts/hosts.ts'

/** An agent: runs the lines that it reads as commands of its session, and prints how each has ended. */
const agentProgram = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { command, input, env } = JSON.parse(line)
  const options = { input, encoding: 'utf8', env: { ...process.env, ...env } }
  const { status, stderr } = require('node:child_process').spawnSync('sh', ['-c', command], options)
  console.log(JSON.stringify({ code: status, stderr }))
})`

interface End {
  code: number | null
  stderr: string
}

/** A repository with the guard and the shim, and an agent whose session holds it. */
class GuardedRepository extends ScriptWorld {
  readonly other = join(this.tmp, 'other')
  readonly #agent: Running

  constructor(words: readonly string[] = ['sh']) {
    super()
    this.shell = words
    Object.assign(this.env, {
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_AUTHOR_NAME: 'A',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'A',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    })
    rmSync(join(this.workspace, '.git'), { recursive: true })
    for (const cwd of [this.workspace, this.other]) {
      mkdirSync(join(cwd, 'sub'), { recursive: true })
      for (const args of ['init -q -b main', 'commit -q --allow-empty -m first'])
        execFileSync('git', args.split(' '), { cwd, env: this.env })
    }
    const program = [...words, hookScript, this.node, hookBin]
    for (const event of hosts.git.events)
      for (const cwd of [this.workspace, this.other])
        this.#writeProgram(join(cwd, '.git/hooks', event.name), `#!/bin/sh\n${guardText(event, program, {})}`)
    this.#writeProgram(join(this.tmp, 'git-shim/git'), shimFile.write(program, {}))
    this.#agent = this.start(process.execPath, ['-e', agentProgram], {
      cwd: this.workspace,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { CLAUDE_CODE_SESSION_ID: 'session-a' },
    })
  }

  #writeProgram(path: string, text: string): void {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, 0o755)
  }

  /** Runs a command below the agent. */
  async byAgent(command: string, { input = '', env = {} as NodeJS.ProcessEnv } = {}): Promise<End> {
    const lines = (): string[] => this.#agent.output().stdout.split('\n')
    const before = lines().length
    this.#agent.child.stdin?.write(`${JSON.stringify({ command, input, env })}\n`)
    await until('the command has ended', () => lines().length > before)
    return JSON.parse(lines().at(-2) ?? '') as End
  }

  /** Runs a command that the agent has not started. */
  async byOther(command: string, env: NodeJS.ProcessEnv = {}): Promise<End> {
    const { code, stderr } = await this.start('sh', ['-c', command], { cwd: this.workspace, env }).finished
    return { code, stderr }
  }

  /** The session of the agent gets the workspace, and a pass. */
  async hold(...flags: string[]): Promise<void> {
    const command = `${this.words.map((word) => `'${word}'`).join(' ')} ${flags.join(' ')}; exit $?`
    const { code } = await this.byAgent(command, {
      input: callEvent('PreToolUse', 'one', { cwd: this.workspace }),
    })
    if (code !== 0) throw new Error('the session did not get the workspace')
  }
}

const commit = 'git commit -q --allow-empty -m x'
const allowed = { code: 0, stderr: '' }
const refused = { code: 1, stderr: expect.stringContaining('lock held by session-a') as string }

test.each(Object.entries(shells))(
  'in %s, git of the holder may work, and git of others may not',
  async (_name, words) => {
    await using world = new GuardedRepository(words)
    expect(await world.byAgent(commit)).toEqual(allowed)
    await world.hold()
    for (const command of [
      commit,
      `cd sub && ${commit}`,
      'git checkout -q -b new && git merge -q main && git reset -q --hard HEAD~1 && git stash',
      `"${world.tmp}/git-shim/git" -C "${world.workspace}" -C sub commit -q --allow-empty -m x`,
      `PATH="${world.tmp}/git-shim:$PATH" git clean -fdq`,
    ])
      expect(await world.byAgent(command), command).toEqual(allowed)
    expect(await world.byOther(commit)).toEqual(refused)
    expect(await world.byOther(commit, { STINT_BYPASS: '1' })).toEqual(allowed)
  },
)

test('a variable that names the holder allows git only below its agent', async () => {
  await using world = new GuardedRepository()
  await world.hold()
  const env = { CLAUDE_CODE_SESSION_ID: 'session-a', CODEX_THREAD_ID: 'session-a' }
  expect(await world.byOther(commit, env)).toEqual(refused)
  for (const session of ['session-b', '../session-a', 'session-*', ''])
    expect(await world.byAgent(commit, { env: { CLAUDE_CODE_SESSION_ID: session } }), session).toEqual(
      allowed,
    )
})

test('the former holder is refused as soon as another session has the workspace', async () => {
  await using world = new GuardedRepository()
  await world.hold()
  await world.lock(['release', '--session', 'session-a'])
  expect(await world.byAgent(commit)).toEqual(allowed)
  await world.lock(['acquire', '--session', 'session-b'])
  const end = await world.byAgent(commit)
  expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining('held by session-b') })
})

test('git in the workspace of another session is refused, whatever the agent holds elsewhere', async () => {
  await using world = new GuardedRepository()
  await world.hold()
  await world.lock(['acquire', '--session', 'session-b'], world.other)
  const held = { code: 1, stderr: expect.stringContaining('held by session-b') as string }
  const shim = `"${world.tmp}/git-shim/git"`
  for (const command of [
    `cd "${world.other}" && ${commit}`,
    `git -C "${world.other}" commit -q --allow-empty -m x`,
    `git --git-dir="${world.other}/.git" --work-tree="${world.other}" commit -q --allow-empty -m x`,
    `${shim} -C "${world.other}/sub" clean -fd`,
    `${shim} --work-tree="${world.other}" clean -fd`,
    `GIT_DIR="${world.other}/.git" ${shim} gc`,
    `${shim} init -q "${world.other}/new"`,
    `ln -s "${world.other}" link && ${shim} -C link clean -fd`,
    `ln -s "${world.other}" link-too && cd link-too && ${shim} clean -fd`,
  ])
    expect(await world.byAgent(command), command).toEqual(held)
})
