import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makePrivateDirectory } from '../../base/fs/private-file.ts'
import { columnsOf } from '../../base/process/terminal.ts'
import { shellWord } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import type { CommandContext, RunChild, Paint } from '../../command/context.ts'
import { isErrorCode } from '../../base/errors/error-table.ts'
import { StintError } from '../../base/errors/stint-error.ts'

/** The demo's user, temp root and workspace, all in its scratch, and its output for a person. */
export class Stage {
  readonly workspace: string
  /** The home directory of the demo's user. */
  readonly #user: string
  readonly #tmp: string
  readonly #context: CommandContext
  readonly #paint: Paint

  constructor(context: CommandContext, paint: Paint) {
    const base = context.tmpDir
    this.#context = context
    this.#paint = paint
    this.#user = join(base, 'user')
    this.workspace = join(this.#user, 'project')
    this.#tmp = join(base, 'tmp')
    for (const directory of [this.#user, this.workspace, this.#tmp]) makePrivateDirectory(directory)
  }

  title(text: string): void {
    this.#context.say(`\n${this.#paint.bold(text)}\n`)
  }

  say(text: string): void {
    for (const line of this.#wrap(this.#shorten(text), 2)) this.#context.say(`  ${line}\n`)
  }

  /** Prints a command line as a user would type it. */
  command(text: string): void {
    this.#marked(this.#paint.dim('$'), this.#shorten(text), this.#paint.bold)
  }

  /** Paths as the demo's user would write them. */
  #shorten(text: string): string {
    return text.replaceAll(this.#user, '~')
  }

  good(text: string): void {
    this.#marked(this.#paint.green('✓'), text)
  }

  bad(text: string): void {
    this.#marked(this.#paint.red('✗'), text)
  }

  #marked(mark: string, text: string, paint = (line: string): string => line): void {
    for (const [index, line] of this.#wrap(text, 4).entries())
      this.#context.say(`  ${index === 0 ? mark : ' '} ${paint(line)}\n`)
  }

  /** The lines of a text that stands `indent` columns to the right: a terminal would break words. */
  #wrap(text: string, indent: number): string[] {
    return wrap(text, (columnsOf(1) ?? Number.POSITIVE_INFINITY) - indent)
  }

  /** Writes a file into the workspace. */
  write(name: string, content: string): void {
    writeFileSync(join(this.workspace, name), content)
  }

  /** Writes a file into the home directory of the demo's user, and returns its path. */
  writeHome(name: string, content: string): string {
    const path = join(this.#user, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, content)
    return path
  }

  /** Prints a command line of another program, and runs it to its end. */
  async run(program: string, ...args: readonly string[]): Promise<void> {
    this.command([program, ...args].map(shellWord).join(' '))
    const process = await this.start(program, args)
    assertShown((await process.ended) === 0, `\`${program}\` works`, process)
  }

  /** Prints a command line of stint, and starts exactly that. */
  async stint(...args: readonly string[]): Promise<DemoProcess> {
    this.command(['stint', ...args].map(shellWord).join(' '))
    return await this.start(process.execPath, [process.argv[1] ?? '', ...args])
  }

  /** Starts a program in the workspace. */
  async start(program: string, args: readonly string[]): Promise<DemoProcess> {
    const child = await this.#context.spawn(program, args, {
      cwd: this.workspace,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: this.#environment(),
    })
    return new DemoProcess(child)
  }

  /** Without the variables of the demo's own run: its processes stand for unrelated ones. */
  #environment(): NodeJS.ProcessEnv {
    const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name))
    return {
      ...Object.fromEntries(inherited),
      HOME: this.#user,
      STINT_TMP_ROOT: this.#tmp,
      NO_COLOR: '1',
      // `demoError` recognises a full disk by its English message.
      LC_ALL: 'C',
    }
  }
}

/** Variables that lead to files of the real user, or of the demo's own run. */
const foreign = /^(?:STINT_|GIT_|XDG_|TMPDIR$|TEMP$|TMP$|\w+_HOME$|\w+_CONFIG_DIR$|QWEN_RUNTIME_DIR$)/

/** A process of the demo: the lines it prints, and how it ends. */
export class DemoProcess {
  readonly #child: RunChild
  /**
   * Resolves with the exit code when the process has ended and its output is read to the end; null if a
   * signal ended it.
   */
  readonly ended: Promise<number | null>
  #output = ''
  stderr = ''

  constructor(child: RunChild) {
    this.#child = child
    this.ended = new Promise((resolve) => child.process.once('close', resolve))
    child.process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#output += text))
    child.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    // A process that has ended too early does not read: the demo looks at its end instead.
    child.process.stdin?.on('error', () => {})
  }

  get pid(): number {
    return this.#child.pid
  }

  get lines(): string[] {
    return this.#output.split('\n').slice(0, -1)
  }

  /** Waits for a line that starts with `prefix`, and returns the rest of it. */
  async waitForLine(prefix: string): Promise<string> {
    for (let isOver = false; ;) {
      const line = this.lines.find((text) => text.startsWith(prefix))
      if (line !== undefined) return line.slice(prefix.length).trim()
      if (isOver) throw demoError(`a process ended before it printed "${prefix}"`, this.stderr)
      isOver = await Promise.race([
        once(this.#child.process.stdout ?? process, 'data').then(() => false),
        this.ended.then(() => true),
      ])
    }
  }

  write(line: string): void {
    this.#child.process.stdin?.write(`${line}\n`)
  }

  kill(): void {
    this.#child.process.kill('SIGKILL')
  }
}

/** Throws if the demo does not show what it claims. The error may quote what `process` printed. */
export function assertShown(shown: boolean, claim: string, process?: DemoProcess): asserts shown {
  if (!shown) throw demoError(claim, process?.stderr ?? '')
}

/** The error of a failed demo. A code that a process printed, such as that of a full disk, is taken over. */
export function demoError(claim: string, stderr: string): StintError {
  const [, message = '', code = ''] = /^stint[^:\n]*: (.*) \(([A-Z_]+)\)$/m.exec(stderr) ?? []
  if (isErrorCode(code)) return new StintError(code, `the demo stopped: ${message}`)
  const full = stderr.split('\n').find((line) => line.includes('No space left on device'))
  if (full !== undefined) return new StintError('DISK_FULL', `the demo stopped: ${full.trim()}`)
  return new StintError('UNEXPECTED', ['the demo failed', claim, stderr.trim()].filter(Boolean).join(': '))
}
