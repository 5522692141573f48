import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, mkdirSync, openSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isRunning, stintBin, until, type World } from './world.ts'

/**
 * A real terminal in a tmux server of its own, with an interactive shell that starts in the world's temp
 * directory and has `stint` on its PATH. The prompt shows the exit code of the last command: `[130] ready>`.
 */
export class Terminal implements AsyncDisposable {
  readonly #socket: string
  readonly #env: NodeJS.ProcessEnv
  readonly #server: number
  readonly #device: string

  /** Opens a terminal; a second one in the same world needs another `name`. */
  static async open(world: World, shell: readonly string[] = ['sh', '-i'], name = 'tmux'): Promise<Terminal> {
    const terminal = new Terminal(world, shell, name)
    try {
      await terminal.shows(/^\[0\] ready>$/)
      return terminal
    } catch (error) {
      await terminal[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(world: World, shell: readonly string[], name: string) {
    this.#socket = join(world.tmp, name)
    this.#env = environment(world)
    this.#tmux('new-session', '-d', '-x', '80', '-y', '24', '-c', world.tmp, '--', ...shell)
    const [server, device = ''] = this.#tmux('display-message', '-p', '#{pid} #{pane_tty}').trim().split(' ')
    this.#server = Number(server)
    this.#device = device
  }

  /** The visible text, without blanks at the ends of lines and below the last line. */
  screen(): string {
    return this.#tmux('capture-pane', '-p', '-J').replace(/ +$/gm, '').trimEnd()
  }

  /** Runs a command line; returns its output, also the lines that have scrolled off the screen. */
  async output(line: string): Promise<{ lines: string[]; isWrapped: boolean }> {
    this.enter('clear')
    await this.shows(/^\[\d+\] ready>$/)
    this.#tmux('clear-history')
    this.enter(`${line}; echo END''OF''OUTPUT`)
    await this.shows(/^ENDOFOUTPUT\n\[0\] ready>$/m)
    const capture = (...how: string[]): string[] => {
      const all = this.#tmux('capture-pane', '-p', '-S', '-', ...how).replaceAll(/ +$/gm, '')
      const end = all.indexOf('\nENDOFOUTPUT\n')
      return all.slice(all.indexOf('OUTPUT\n') + 7, end).split('\n')
    }
    const lines = capture()
    return { lines, isWrapped: capture('-J').length < lines.length }
  }

  async shows(what: RegExp): Promise<void> {
    let seen = ''
    try {
      await until(`the screen shows ${what}`, () => what.test((seen = this.screen())))
    } catch (error) {
      throw new Error(`the screen never showed ${what}; it is:\n${seen}`, { cause: error })
    }
  }

  /** Writes everything that is printed from now on to a file, also what the next line overwrites at once. */
  record(path: string): void {
    this.#tmux('pipe-pane', `cat > '${path}'`)
  }

  /** Types a line and presses Enter. */
  enter(line: string): void {
    this.#tmux('send-keys', '-l', '--', `${line}\r`)
  }

  /** Presses a key by its name in tmux: `q`, `C-c`, `Down`. */
  press(key: string): void {
    this.#tmux('send-keys', key)
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  /** Does a full-screen program use the alternate screen? */
  isAlternate(): boolean {
    return this.#tmux('display-message', '-p', '#{alternate_on}').trim() === '1'
  }

  /** The terminal modes (echo, line editing, …) as `stty -g` prints them. */
  modes(): string {
    const device = openSync(this.#device, constants.O_RDWR | constants.O_NOCTTY)
    try {
      return execFileSync('stty', ['-g'], { stdio: [device, 'pipe', 'pipe'], encoding: 'utf8' }).trim()
    } finally {
      closeSync(device)
    }
  }

  /** Closes the window while the shell runs. */
  hangUp(): void {
    this.#tmux('kill-session')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      process.kill(this.#server, 'SIGTERM')
    } catch {
      // The server has ended with its only window.
    }
    await until('the terminal is gone', () => !isRunning(this.#server))
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, '-f', '/dev/null', ...args], {
      env: this.#env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
}

/** Makes a directory of the world that has `stint` and `node`, for its PATH. */
export function commandsOf({ tmp }: World): string {
  const bin = join(tmp, 'bin')
  if (existsSync(bin)) return bin
  mkdirSync(bin)
  symlinkSync(stintBin, join(bin, 'stint'))
  symlinkSync(process.execPath, join(bin, 'node'))
  return bin
}

function environment(world: World): NodeJS.ProcessEnv {
  const { env, tmp } = world
  return {
    ...env,
    PATH: [commandsOf(world), env.PATH].join(delimiter),
    // Programs in the terminal write their histories here, so that these go with the test.
    HOME: tmp,
    LC_ALL: 'C',
    PS1: '[$?] ready> ',
    STINT_OUTPUT: undefined,
    ENV: undefined,
    LESS: undefined,
    LESSOPEN: undefined,
    PYTHONSTARTUP: undefined,
    TMUX: undefined,
    TMUX_PANE: undefined,
  }
}
