import { once } from 'node:events'
import { join } from 'node:path'
import type { Paint } from '../../command/colour.ts'
import type { Context, RunChild } from '../../command/context.ts'
import { makePrivateDirectory } from '../../primitives/private-file.ts'
import { StintError } from '../../primitives/stint-error.ts'

/** Where the demo is played: a home, a temp root and a workspace of its own, which are gone when it ends. */
export class Stage {
  readonly workspace: string
  readonly home: string
  readonly tmp: string
  readonly #context: Context
  readonly #paint: Paint

  constructor(context: Context, paint: Paint) {
    const base = context.tmpDir
    this.#context = context
    this.#paint = paint
    this.workspace = join(base, 'workspace')
    this.home = join(base, 'home')
    this.tmp = join(base, 'tmp')
    for (const directory of [this.workspace, this.home, this.tmp]) makePrivateDirectory(directory)
  }

  title(text: string): void {
    this.#context.say(`\n${this.#paint.bold(text)}\n`)
  }

  tell(text: string): void {
    this.#context.say(`  ${text}\n`)
  }

  /** A command line, as somebody would type it. */
  command(text: string): void {
    this.#context.say(`  ${this.#paint.dim('$')} ${this.#paint.bold(text)}\n`)
  }

  good(text: string): void {
    this.#context.say(`  ${this.#paint.green('✓')} ${text}\n`)
  }

  bad(text: string): void {
    this.#context.say(`  ${this.#paint.red('✗')} ${text}\n`)
  }

  /** Starts stint itself, as in a terminal of its own. */
  async stint(args: readonly string[], part?: string): Promise<Player> {
    return await this.#start([process.argv[1] ?? '', ...args], part)
  }

  /** Starts a simulated agent: this program, playing a part. */
  async agent(part: string, ...args: string[]): Promise<Player> {
    return await this.#start([process.argv[1] ?? '', 'demo'], [part, ...args].join(' '))
  }

  /** The command line of a simulated agent, for `stint run`. */
  agentCommand(): string[] {
    return [process.execPath, process.argv[1] ?? '', 'demo']
  }

  async #start(args: readonly string[], part: string | undefined): Promise<Player> {
    const child = await this.#context.spawn(process.execPath, args, {
      cwd: this.workspace,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: this.#environment(part),
    })
    return new Player(child)
  }

  /** Nothing of the run that plays the demo: those it starts stand for themselves. */
  #environment(part: string | undefined): NodeJS.ProcessEnv {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(?:STINT_|TMPDIR$|TEMP$|TMP$)/.test(name),
    )
    return {
      ...Object.fromEntries(inherited),
      STINT_HOME: this.home,
      STINT_TMP_ROOT: this.tmp,
      NO_COLOR: '1',
      ...(part === undefined ? {} : { STINT_DEMO_PART: part }),
    }
  }
}

/** A process that plays along: what it says, line by line, and how it ends. */
export class Player {
  readonly #child: RunChild
  /** When it has ended and all it said has been heard: `exited` comes before that. */
  readonly #closed: Promise<number | null>
  #heard = ''
  errors = ''

  constructor(child: RunChild) {
    this.#child = child
    this.#closed = new Promise((resolve) => child.process.once('close', resolve))
    child.process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#heard += text))
    child.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
  }

  get pid(): number {
    return this.#child.pid
  }

  get lines(): string[] {
    return this.#heard.split('\n').slice(0, -1)
  }

  /** Waits for a line that begins like this, and gives the rest of it. */
  async hears(start: string): Promise<string> {
    for (let isOver = false; ;) {
      const line = this.lines.find((each) => each.startsWith(start))
      if (line !== undefined) return line.slice(start.length).trim()
      if (isOver) throw failed(`a player ended before it said "${start}": ${this.errors.trim()}`)
      isOver = await Promise.race([
        once(this.#child.process.stdout ?? process, 'data').then(() => false),
        this.#closed.then(() => true),
      ])
    }
  }

  say(line: string): void {
    this.#child.process.stdin?.write(`${line}\n`)
  }

  kill(): void {
    this.#child.process.kill('SIGKILL')
  }

  /** Its exit code, or null if it was killed. */
  async ended(): Promise<number | null> {
    return await this.#closed
  }
}

/** The demo shows what happens; if something else does, it says so. */
export function assertShown(shown: boolean, what: string): asserts shown {
  if (!shown) throw failed(what)
}

const failed = (what: string): StintError =>
  new StintError('UNEXPECTED', `the demo did not go as it should: ${what}`)
