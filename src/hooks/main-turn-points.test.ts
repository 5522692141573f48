import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookEvent, HookWorld } from '../../test/support/hook-host.ts'
import { generationsOf } from '../../test/support/vault-contents.ts'
import { isRunning, until } from '../../test/support/world.ts'
import { readProcessTable } from '../base/process/process-table.ts'

/** A world whose workspace is a repository with a commit, and whose hooks take restore points. */
class PointWorld extends HookWorld {
  readonly choices = { undo: true }

  constructor() {
    super()
    rmSync(join(this.workspace, '.git'), { recursive: true })
    this.write('kept.txt', 'before\n')
    for (const args of ['init -q', 'add -A', '-c user.name=a -c user.email=a@b commit -q -m first'])
      execFileSync('git', args.split(' '), { cwd: this.workspace })
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.workspace, name), text)
  }

  read(name: string): string {
    return readFileSync(join(this.workspace, name), 'utf8')
  }

  /** A turn of a session that changes a file. */
  async turn(session: string, name: string, text: string): Promise<string> {
    const { allowed, ended } = await this.hook('claude', 'pre', { session, choices: this.choices })
    if (!allowed) throw new Error('the call was refused')
    this.write(name, text)
    await this.hook('claude', 'stop', { session, choices: this.choices })
    return ended.stdout
  }

  /** The list of change sets. */
  async changes(): Promise<string> {
    return (await this.stint(['changes', '--json'], { cwd: this.workspace })).stdout
  }

  /** Waits for the copiers of the vault, which nobody waits for. */
  async copiersEnd(): Promise<void> {
    const { processes, environmentOf } = readProcessTable()
    const home = `\0STINT_HOME=${this.home}\0`
    const copiers = processes.filter(({ pid }) => environmentOf(pid).includes(home))
    await until('the copiers have ended', () => copiers.every(({ pid }) => !isRunning(pid)))
  }
}

test('each turn of a session is a change set, and undo takes it back', async () => {
  await using world = new PointWorld()
  await world.turn('one', 'kept.txt', 'by one\n')
  await world.turn('two', 'new.txt', 'by two\n')
  expect(await world.changes()).toMatch(/"one".*"two"/s)
  const undone = await world.stint(['undo', 'one', '--yes', '--json'], { cwd: world.workspace })
  expect(undone.envelope().error).toBeFalsy()
  expect([world.read('kept.txt'), world.read('new.txt')]).toEqual(['before\n', 'by two\n'])
})

test('a session is told which files others have changed, and which of its own were taken back', async () => {
  await using world = new PointWorld()
  await world.turn('one', 'kept.txt', 'by one\n')
  await world.turn('two', 'new.txt', 'by two\n')
  expect(await world.turn('one', 'other.txt', 'by one\n')).toContain('Changed since: new.txt.')
  await world.stint(['undo', 'one', '--yes'], { cwd: world.workspace })
  const prompt = await world.hook('claude', 'prompt', { session: 'one', choices: world.choices })
  expect(prompt.ended.stdout).toContain('your user has undone changes of this session: ')
  expect(prompt.ended.stdout).toContain('UserPromptSubmit')
  const again = await world.hook('claude', 'prompt', { session: 'one', choices: world.choices })
  expect(again.ended.stdout).toBe('')
})

test('with --no-undo, no point is taken', async () => {
  await using world = new PointWorld()
  await world.hook('claude', 'pre', { choices: { undo: false } })
  await world.hook('claude', 'stop', { choices: { undo: false } })
  expect(existsSync(join(world.home, 'points'))).toBe(false)
})

test('the end of a turn copies the transcript into the vault, if there is one', async () => {
  await using world = new PointWorld()
  world.env.HOME = world.tmp
  const projects = join(world.tmp, '.claude/projects/p')
  mkdirSync(projects, { recursive: true })
  const session = '6fd3b8c7-0000-4000-8000-000000000001'
  const line = JSON.stringify({ type: 'user', sessionId: session, message: { role: 'user', content: 'hi' } })
  writeFileSync(join(projects, `${session}.jsonl`), `${line}\n`)
  const stop = JSON.stringify(hookEvent('claude', 'stop', { session, cwd: world.workspace }))
  await world.hook('claude', 'stop', { input: stop })
  expect(existsSync(join(world.home, 'vault'))).toBe(false)
  mkdirSync(join(world.home, 'vault'), { recursive: true, mode: 0o700 })
  await world.hook('claude', 'stop', { input: stop })
  const copy = (): string | undefined =>
    generationsOf(join(world.home, 'vault/claude', session), `${session}.jsonl`).at(-1)
  await until('the transcript is copied', () => copy() === `${line}\n`)
  await world.copiersEnd()
})
