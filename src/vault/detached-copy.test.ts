import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { generationsOf } from '../../test/support/vault-contents.ts'
import { projectRoot, until, World } from '../../test/support/world.ts'
import { readProcessStat } from '../base/process/platform.ts'
import { readProcessTable } from '../base/process/process-table.ts'
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
    const { processes, environmentOf } = readProcessTable()
    const pids = processes.map(({ pid }) => pid)
    const copiers = pids.filter((pid) => environmentOf(pid).includes(`\0STINT_HOME=${this.env.STINT_HOME}\0`))
    await until('the copiers have ended', () => copiers.every((pid) => readProcessStat(pid) === undefined))
  }

  get kept(): string | undefined {
    return generationsOf(join(this.vault, 'claude', id), `${id}.jsonl`).at(-1)
  }
}

test('the end of a turn copies whole lines, and the end of a session all of it, without anyone waiting', async () => {
  await using user = new User()
  expect((await user.stint(['vault', 'sync', '--json'])).code).toBe(0)
  appendFileSync(user.transcript, 'two\n{"unfin')
  copyTranscriptDetached({ agent: 'claude', sessionId: id }, program, user.env)
  await until('whole lines are kept', () => user.kept === 'one\ntwo\n')
  copyTranscriptDetached({ agent: 'claude', sessionId: id, hasEnded: true }, program, user.env)
  await until('everything is kept', () => user.kept === readFileSync(user.transcript, 'utf8'))
  appendFileSync(user.transcript, 'ished"}\n')
  copyTranscriptDetached({ agent: 'claude' }, program, user.env)
  await until('all conversations of the agent are kept', () => user.kept?.endsWith('ished"}\n'))
  await user.copiersEnd()
})

test('the copier is no process of the session: it runs in /, without the variables of the agent', async () => {
  await using user = new User()
  const report = join(user.tmp, 'report.json')
  const script = join(user.tmp, 'report.cjs')
  writeFileSync(
    script,
    `require('fs').writeFileSync(${JSON.stringify(report)}, JSON.stringify({ cwd: process.cwd(), env: process.env }))`,
  )
  const env = {
    ...user.env,
    CLAUDE_CODE_SESSION_ID: id,
    STINT_SESSION_ID: id,
    CODEX_THREAD_ID: id,
    STINT_TMP_DIR: '/x',
  }
  copyTranscriptDetached({ agent: 'claude', sessionId: id }, script, env)
  await until(
    'the copier has started',
    () => existsSync(report) && readFileSync(report, 'utf8').endsWith('}'),
  )
  const { cwd, env: got } = JSON.parse(readFileSync(report, 'utf8')) as { cwd: string; env: object }
  expect(cwd).toBe('/')
  expect(JSON.stringify(got)).not.toContain(id)
  expect(got).toMatchObject({ HOME: user.env.HOME, STINT_HOME: user.env.STINT_HOME })
})

test('without a vault nothing is copied, and a program that cannot start harms nobody', async () => {
  await using user = new User()
  const { code, stdout } = await user.start(process.execPath, [program, 'claude', id, 'ended']).finished
  expect([code, stdout, existsSync(user.vault)]).toEqual([0, '', false])
  copyTranscriptDetached({ agent: 'claude' }, join(user.tmp, 'missing.cjs'), user.env)
})
