import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { vi } from 'vitest'
import { buildFailCall } from './build-c.ts'
import { copyTree } from './copy-tree.ts'
import { PointWorld } from './point-world.ts'
import { stintBin } from './world.ts'

/** How a call of the undo fails: with an error, or by the death of the process. */
export type Interruption = 'error' | 'kill'

/**
 * A worktree with one turn to undo: files that are changed, deleted, added, become a directory, a link, or a
 * file again. Each undo starts from a copy of it, and one of its calls is interrupted.
 */
export class InterruptedUndos extends PointWorld {
  readonly #library = buildFailCall(this.tmp)
  readonly #template = join(this.tmp, 'template')
  #before = new Map<string, string>()
  #after = new Map<string, string>()

  async prepare(): Promise<void> {
    this.write({
      'a.txt': 'a\n',
      'b.txt': 'b\n',
      'gone/deep/c.txt': 'c\n',
      d: 'd\n',
      'e/f': 'f\n',
      other: 'o\n',
    })
    this.link('l', 'a.txt')
    this.commit()
    this.#before = this.files()
    await this.turn('claude-1', () => {
      this.write({ gone: null, d: null, e: null, l: null })
      this.write({
        'a.txt': 'A\n',
        'd/x': 'x\n',
        e: 'now a file\n',
        l: 'now a file\n',
        'new/deep/n.txt': 'n\n',
      })
    })
    this.#after = this.files()
    mkdirSync(this.#template)
    for (const name of ['repo', 'home']) renameSync(join(this.tmp, name), join(this.#template, name))
  }

  /** The calls that an undo makes, such as `mkdir repo/gone`. */
  async calls(): Promise<string[]> {
    this.#restore()
    await this.#undo(['--yes'], 0, 'error', 0)
    return this.#logged()
  }

  /** Interrupts call number `at` of an undo, and recovers. Returns what is wrong. */
  async fault(
    at: number,
    how: Interruption,
    recovery: '--continue' | '--abort',
    error = 0,
  ): Promise<string[]> {
    this.#restore()
    const { stderr } = await this.#undo(['--yes'], at, how, error)
    const call = this.#logged()[at - 1] ?? 'no call'
    const faults = [
      ...(/^\s+at .+:\d+:\d+\)?$/m.test(stderr) || stderr.includes('UNEXPECTED')
        ? [`a stack trace: ${stderr}`]
        : []),
      ...(stderr.includes('UNDO_STALE') ? [`a failed call counts as a change of another: ${stderr}`] : []),
      ...this.#tornFiles(),
      ...(await this.#recover(recovery)),
    ]
    return faults.map((fault) => `${how} at ${at} (${call}), ${recovery}: ${fault}`)
  }

  /** Lets the first call with this name and path fail; returns what the user reads, and if files changed. */
  async failCall(call: string, error: number): Promise<{ stderr: string; isUnchanged: boolean }> {
    for (;;) {
      const at = (await this.calls()).indexOf(call) + 1
      if (at === 0) throw new Error(`an undo makes no call: ${call}`)
      this.#restore()
      const { stderr } = await this.#undo(['--yes'], at, 'error', error)
      // The number of a call differs between two undos if one of them had to wait: count again.
      if (this.#logged()[at - 1] !== call) continue
      return { stderr, isUnchanged: JSON.stringify([...this.files()]) === JSON.stringify([...this.#after]) }
    }
  }

  #restore(): void {
    for (const name of ['repo', 'home']) {
      rmSync(join(this.tmp, name), { recursive: true, force: true })
      copyTree(join(this.#template, name), join(this.tmp, name))
    }
  }

  async #undo(args: readonly string[], at: number, how: Interruption, error: number) {
    const [count, log] = ['count', 'log'].map((name) => join(this.tmp, name)) as [string, string]
    writeFileSync(count, Buffer.alloc(8))
    writeFileSync(log, '')
    const directories = ['home', 'repo'].map((name) => join(this.tmp, name))
    return await this.start(process.execPath, [stintBin, 'undo', ...args], {
      cwd: this.repo,
      env: {
        STINT_OUTPUT: '',
        UV_USE_IO_URING: '0',
        LD_PRELOAD: this.#library,
        FAULT_DIRECTORIES: directories.join(':'),
        FAULT_FILES: '',
        FAULT_PROGRAM: realpathSync(process.execPath),
        FAULT_COUNT: count,
        FAULT_LOG: log,
        FAULT_AT: String(at),
        FAULT_ERROR: String(error),
        ...(how === 'kill' && { FAULT_KILLS: '1' }),
      },
    }).finished
  }

  #logged(): string[] {
    const log = readFileSync(join(this.tmp, 'log'), 'utf8').replaceAll(
      /\/points\/[0-9a-f]{12}/g,
      '/points/KEY',
    )
    const lines = log.split('\n').slice(0, -1)
    return lines.map((line) => line.split(' ').slice(3).join(' ').replace(`${this.tmp}/`, ''))
  }

  /** Every file is as before the turn or as after it; what the undo stages is not counted. */
  #tornFiles(): string[] {
    const found = [...this.files()].filter(([path]) => !path.startsWith('.stint-undo-'))
    const torn = found.filter(
      ([path, state]) => state !== this.#before.get(path) && state !== this.#after.get(path),
    )
    return torn.map(([path]) => `${path} is neither as before nor as after`)
  }

  async #recover(recovery: string): Promise<string[]> {
    const { code, stderr } = await this.stint(['undo', recovery], {
      cwd: this.repo,
      env: { STINT_OUTPUT: '' },
    })
    const wasInterrupted = !stderr.includes('NOT_FOUND')
    if (wasInterrupted && code !== 0) return [`recovery failed: ${stderr}`]
    const files = JSON.stringify([...this.files()])
    const isUndone = files === JSON.stringify([...this.#before])
    const isAsAfter = files === JSON.stringify([...this.#after])
    const isRight = wasInterrupted
      ? recovery === '--continue'
        ? isUndone
        : isAsAfter
      : isUndone || isAsAfter
    const leftovers = readdirSync(this.repo).filter((name) => name.startsWith('.stint-undo-'))
    const again = await this.stint(['changes', '--json'], { cwd: this.repo })
    return [
      ...(isRight ? [] : [`the files are ${files}`]),
      ...leftovers.map((name) => `${name} was left behind`),
      ...(again.code === 0 ? [] : [`later, stint changes: ${again.stdout}`]),
      ...(lstatSync(join(this.repo, '.git/index.lock'), { throwIfNoEntry: false }) ? ['index.lock'] : []),
    ]
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    vi.unstubAllEnvs()
    await super[Symbol.asyncDispose]()
  }
}
