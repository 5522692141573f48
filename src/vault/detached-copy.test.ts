import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { generationsOf } from '../../test/support/vault-contents.ts'
import { projectRoot, until, World } from '../../test/support/world.ts'
import { readProcessStat } from '../base/process/platform.ts'
import { readProcessTable } from '../base/process/process-table.ts'
import { withLock } from './conversation-lock.ts'
import { copyTranscriptDetached } from './detached-copy.ts'

const program = join(projectRoot, 'dist/bin/vault-copy.cjs')
/** Of this file alone: a conversation whose id a process names counts as open. */
const id = '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b01'

class User extends World {
  readonly transcript = join(this.tmp, `user/.claude/projects/p/${id}.jsonl`)
  readonly vault = join(this.tmp, 'home/vault')
  override readonly env = { ...process.env, HOME: join(this.tmp, 'user'), STINT_HOME: join(this.tmp, 'home') }

  constructor() {
    super()
    mkdirSync(dirname(this.transcript), { recursive: true })
    writeFileSync(this.transcript, 'one\n')
  }

  /** Waits for the copiers, which nobody waits for: they still write to the vault. */
  async copiersEnd(): Promise<void> {
    const copiers = this.copiers()
    await until('the copiers have ended', () => copiers.every((pid) => readProcessStat(pid) === undefined))
  }

  copiers(): number[] {
    const { processes, environmentOf } = readProcessTable()
    const pids = processes.map(({ pid }) => pid)
    return pids.filter((pid) => environmentOf(pid).includes(`\0STINT_HOME=${this.env.STINT_HOME}\0`))
  }

  /** Copies as a hook does. */
  copy(moment: 'start' | 'stop' | 'end', sessionId = id): void {
    copyTranscriptDetached({ agent: 'claude', sessionId, moment }, program, this.env)
  }

  get kept(): string | undefined {
    return generationsOf(join(this.vault, 'claude', id), `${id}.jsonl`).at(-1)
  }
}

test('the end of a turn copies whole lines, and the end of a session all of it, without anyone waiting', async () => {
  await using user = new User()
  expect((await user.stint(['vault', 'sync', '--json'])).code).toBe(0)
  appendFileSync(user.transcript, 'two\n{"unfin')
  user.copy('stop')
  await until('whole lines are kept', () => user.kept === 'one\ntwo\n')
  user.copy('end')
  await until('everything is kept', () => user.kept === readFileSync(user.transcript, 'utf8'))
  appendFileSync(user.transcript, 'ished"}\n')
  user.copy('start', 'another-session')
  await until('all conversations of the agent are kept', () => user.kept?.endsWith('ished"}\n'))
  await user.copiersEnd()
})

test('copiers of one conversation wait for each other, and miss nothing', async () => {
  await using user = new User()
  await user.stint(['vault', 'sync', '--json'])
  const directory = join(user.vault, 'claude', id)
  const stop = () => user.start(process.execPath, [program, 'claude', id, 'stop']).finished
  const copiers = await withLock(directory, async () => {
    appendFileSync(user.transcript, 'two\n')
    const waiting = [stop(), stop()]
    await until('the copiers run', () => user.copiers().length === 2)
    expect(user.kept).toBe('one\n')
    return waiting
  })
  for (let line = 0; line < 30; line++) {
    appendFileSync(user.transcript, `${line}\n`)
    copiers.push(stop())
    await copiers[line]
  }
  await Promise.all(copiers)
  expect(user.kept).toBe(readFileSync(user.transcript, 'utf8'))
})

test('the copier is no process of the session: it runs in /, and knows only where the agents are', async () => {
  await using user = new User()
  mkdirSync(user.vault, { recursive: true })
  const report = join(user.tmp, 'report.json')
  const script = join(user.tmp, 'report.cjs')
  writeFileSync(
    script,
    `require('fs').writeFileSync(${JSON.stringify(report)}, JSON.stringify({ cwd: process.cwd(), env: process.env }))`,
  )
  const places = {
    CLAUDE_CONFIG_DIR: '/a',
    CODEX_HOME: '/b',
    GEMINI_CLI_HOME: '/c',
    QWEN_HOME: '/d',
    QWEN_RUNTIME_DIR: '/e',
    COPILOT_HOME: '/f',
  }
  const env = {
    ...user.env,
    ...places,
    CLAUDE_CODE_SESSION_ID: id,
    STINT_SESSION_ID: id,
    CODEX_THREAD_ID: id,
    STINT_TMP_DIR: '/x',
  }
  copyTranscriptDetached({ agent: 'claude', sessionId: id, moment: 'stop' }, script, env)
  await until(
    'the copier has started',
    () => existsSync(report) && readFileSync(report, 'utf8').endsWith('}'),
  )
  const { cwd, env: got } = JSON.parse(readFileSync(report, 'utf8')) as { cwd: string; env: object }
  expect(cwd).toBe('/')
  expect(JSON.stringify(got)).not.toContain(id)
  expect(got).toMatchObject({ HOME: user.env.HOME, STINT_HOME: user.env.STINT_HOME, ...places })
})

test('without a vault no copier is started, and a program that cannot start harms nobody', async () => {
  await using user = new User()
  const started = join(user.tmp, 'started')
  const script = join(user.tmp, 'script.cjs')
  writeFileSync(script, `require('fs').writeFileSync(${JSON.stringify(started)}, '')`)
  const request = { agent: 'claude', sessionId: id, moment: 'stop' } as const
  copyTranscriptDetached(request, script, user.env)
  mkdirSync(user.vault, { recursive: true })
  copyTranscriptDetached(request, join(user.tmp, 'missing.cjs'), user.env)
  copyTranscriptDetached(request, script, { ...user.env, STINT_HOME: 'not absolute' })
  await user.copiersEnd()
  expect(existsSync(started)).toBe(false)
  const { code, stdout } = await user.start(process.execPath, [program, 'cursor', id, 'end']).finished
  expect([code, stdout]).toEqual([0, ''])
})
