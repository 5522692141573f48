import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readProcessStat } from '../../src/base/process/platform.ts'
import { type Envelope, validEnvelope } from './envelope.ts'

export const projectRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const stintBin = join(projectRoot, 'dist/bin/stint.cjs')

/** Root can mount and change users; without it, a user namespace has to do. */
export const isRoot = process.geteuid?.() === 0

export interface Finished {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  /** The one line on stdout, parsed and checked against the schema. */
  envelope: () => Envelope
}

/** A program under way that the test steers. */
export interface Running {
  child: ChildProcess
  pid: number
  /** Everything printed so far. */
  output: () => { stdout: string; stderr: string }
  finished: Promise<Finished>
}

/** What is said about whoever runs the tests, and not about a user who types a command. */
const aboutTheSuite = new Set(['NODE_EXTRA_CA_CERTS', 'VITEST', 'CI', 'NO_COLOR', 'FORCE_COLOR'])

/**
 * A temp directory of its own for one test, as `STINT_TMP_ROOT` of every stint it starts, with a `STINT_HOME` in it, so that
 * tests see nothing of each other or of the user's own runs. Gone at the end, with every process the test left.
 */
export class World implements AsyncDisposable {
  readonly tmp = realpathSync(mkdtempSync(join(tmpdir(), 'stint-test-')))
  readonly root = join(this.tmp, `stint-${process.geteuid?.()}`)
  readonly env: NodeJS.ProcessEnv
  readonly #running = new Set<Running>()

  constructor(env: NodeJS.ProcessEnv = {}) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('STINT_') && !aboutTheSuite.has(name),
    )
    this.env = {
      ...Object.fromEntries(inherited),
      STINT_TMP_ROOT: this.tmp,
      STINT_HOME: join(this.tmp, 'home'),
      ...env,
    }
  }

  /** Starts any program; `input` is its whole stdin. */
  start(command: string, args: readonly string[], options: SpawnOptions & { input?: string } = {}): Running {
    const { input, ...spawnOptions } = options
    const child = spawn(command, args, {
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      // A session of its own: no test depends on whether the suite was started from a terminal.
      detached: true,
      ...spawnOptions,
      env: { ...this.env, ...spawnOptions.env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.stdin?.end(input)
    const finished = new Promise<Finished>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code, signal) => {
        this.#running.delete(running)
        resolve({ code, signal, stdout, stderr, envelope: () => validEnvelope(stdout) })
      })
    })
    const running: Running = { child, pid: child.pid ?? 0, output: () => ({ stdout, stderr }), finished }
    this.#running.add(running)
    return running
  }

  startStint(args: readonly string[], options: SpawnOptions & { input?: string } = {}): Running {
    return this.start(process.execPath, [stintBin, ...args], options)
  }

  stint(args: readonly string[], options: SpawnOptions & { input?: string } = {}): Promise<Finished> {
    return this.startStint(args, options).finished
  }

  /** Starts a program in namespaces of its own (`--mount`, `--pid` …): what it mounts is gone with it. */
  startUnshared(
    namespaces: readonly string[],
    command: string,
    args: readonly string[],
    options: SpawnOptions = {},
  ): Running {
    const asRoot = isRoot ? [] : ['--user', '--map-current-user', '--keep-caps']
    return this.start('unshare', [...asRoot, ...namespaces, command, ...args], options)
  }

  unshare(namespaces: readonly string[], command: string, args: readonly string[]): Promise<Finished> {
    return this.startUnshared(namespaces, command, args).finished
  }

  /** Entries of the scratch root that are neither `trash` nor `out`: what is left of runs. */
  leftovers(): string[] {
    if (!existsSync(this.root)) return []
    return readdirSync(this.root).filter((name) => name !== 'trash' && name !== 'out')
  }

  /** Every process that was started in this world and still runs, by the mark in its environment. */
  processes(): number[] {
    const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
    return pids.filter((pid) => {
      try {
        return (
          isRunning(pid) &&
          readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`STINT_TMP_ROOT=${this.tmp}\0`)
        )
      } catch {
        return false
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#running) child.kill('SIGKILL')
    for (const pid of this.processes()) killIfThere(pid)
    for (const { child } of this.#running)
      for (const stream of [child.stdout, child.stderr]) stream?.destroy()
    await Promise.allSettled([...this.#running].map(({ finished }) => finished))
    rmSync(this.tmp, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
}

/** Waits for a condition, not for a time; the bound only ends a test that would hang. */
export async function until(what: string, condition: () => unknown, boundMs = 60_000): Promise<void> {
  const end = Date.now() + boundMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`still not so: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Is this pid a process that still runs (a zombie does not)? */
export function isRunning(pid: number): boolean {
  const stat = readProcessStat(pid)
  return stat !== undefined && !(stat.state === 'Z' && stat.threads <= 1)
}

/** Has this process been stopped, by a signal or by Ctrl-Z? */
export const isStopped = (pid: number): boolean => readProcessStat(pid)?.state === 'T'

/** Kills a process that may be ending by itself at the same moment. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
