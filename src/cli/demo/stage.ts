import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Paint } from '../../command/stdio.ts'
import type { CommandContext } from '../../command/context.ts'
import { makePrivateDirectory } from '../../base/fs/private-file.ts'
import { shellWord } from '../../base/text/escape.ts'
import { Player } from './player.ts'

/** Where the demo is played: a home, a temp root and a workspace of its own, which are gone when it ends. */
export class Stage {
  readonly workspace: string
  readonly home: string
  readonly tmp: string
  readonly #context: CommandContext
  readonly #paint: Paint

  constructor(context: CommandContext, paint: Paint) {
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

  /** Writes a file into the workspace. */
  write(name: string, content: string): void {
    writeFileSync(join(this.workspace, name), content)
  }

  /** Shows a command line of stint, and starts just that, as in a terminal of its own. */
  async stint(...args: readonly string[]): Promise<Player> {
    this.command(['stint', ...args].map(shellWord).join(' '))
    return await this.#start([...args])
  }

  /** Starts a simulated agent: this program, playing a part. */
  async agent(part: string): Promise<Player> {
    return await this.#start(['demo'], { STINT_DEMO_PART: part })
  }

  /** A script that becomes a simulated agent. */
  agentScript(part: string): string {
    const program = [process.execPath, process.argv[1] ?? '', 'demo'].map(shellWord).join(' ')
    return `STINT_DEMO_PART=${shellWord(part)} exec ${program}\n`
  }

  async #start(args: readonly string[], variables: NodeJS.ProcessEnv = {}): Promise<Player> {
    const child = await this.#context.spawn(process.execPath, [process.argv[1] ?? '', ...args], {
      cwd: this.workspace,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...this.#environment(), ...variables },
    })
    return new Player(child)
  }

  /** Nothing of the run that plays the demo: those it starts stand for themselves. */
  #environment(): NodeJS.ProcessEnv {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(?:STINT_|TMPDIR$|TEMP$|TMP$)/.test(name),
    )
    return {
      ...Object.fromEntries(inherited),
      STINT_HOME: this.home,
      STINT_TMP_ROOT: this.tmp,
      NO_COLOR: '1',
      // What a program says of a full disk is understood in one language.
      LC_ALL: 'C',
    }
  }
}
