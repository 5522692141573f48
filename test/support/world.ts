import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listIfReadable } from '../../src/base/fs/exists.ts'
import { readProcessStat } from '../../src/base/process/platform.ts'
import { type Envelope, validEnvelope } from './envelope.ts'

export const projectRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const stintBin = join(projectRoot, 'dist/bin/stint.cjs')

/** Root can mount and change users; other users need a user namespace. */
export const isRoot = process.geteuid?.() === 0

/** Starts a process for which permissions count: as another user if this one is root. */
export const unprivileged: { uid?: number; gid?: number } = isRoot ? { uid: 65534, gid: 65534 } : {}

export interface Finished {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
  /** Parses the one line on stdout and checks it against the schema. */
  envelope: () => Envelope
}

/** A running program that the test controls. */
export interface Running {
  child: ChildProcess
  pid: number
  /** Everything printed so far. */
  output: () => { stdout: string; stderr: string }
  finished: Promise<Finished>
}

/** A temp directory that other users may enter, and whose files outlive a test: the suite's own is closed. */
export const openToAll = process.env.SUITE_TMPDIR ?? tmpdir()

/** Variables of the test run that a user's shell would not have. */
const aboutTheSuite = new Set(['VITEST', 'CI', 'NO_COLOR', 'FORCE_COLOR'])

/**
 * A temp directory for one test, as `STINT_TMP_ROOT` of every stint it starts, with a `STINT_HOME` in it, so
 * that tests do not see each other or the user's own runs. Disposing removes it and kills every process in
 * it.
 */
export class World implements AsyncDisposable {
  readonly tmp: string
  readonly root: string
  /** The directory of the scratches. */
  readonly runs: string
  readonly env: NodeJS.ProcessEnv
  readonly #running = new Set<Running>()

  /** `parent` is `openToAll` if another user works in this world. */
  constructor(env: NodeJS.ProcessEnv = {}, parent = tmpdir()) {
    this.tmp = realpathSync(mkdtempSync(join(parent, 'stint-test-')))
    this.root = join(this.tmp, `stint-${process.geteuid?.()}`)
    this.runs = join(this.root, 'run')
    const inherited = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('STINT_') && !aboutTheSuite.has(name),
    )
    this.env = {
      ...Object.fromEntries(inherited),
      STINT_TMP_ROOT: this.tmp,
      STINT_HOME: join(this.tmp, 'home'),
      // Most tests read envelopes; `STINT_OUTPUT: ''` gives what people see.
      STINT_OUTPUT: 'json',
      ...env,
    }
  }

  /** Starts a program; `input` is its whole stdin. Without it, a stdin that is a pipe stays open. */
  start(command: string, args: readonly string[], options: SpawnOptions & { input?: string } = {}): Running {
    const { input, ...spawnOptions } = options
    const child = spawn(command, args, {
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      // In a session of its own, so that no test depends on whether the suite has a terminal.
      detached: true,
      ...spawnOptions,
      env: { ...this.env, ...spawnOptions.env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    if (input !== undefined) child.stdin?.end(input)
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

  /** Starts a program in its own namespaces (`--mount`, `--pid` …): its mounts are gone when it ends. */
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

  /** What runs have left in the scratch root: scratches, lone owners, and what is no part of its layout. */
  leftovers(): string[] {
    const [entries = [], runs = []] = [this.root, this.runs].map(listIfReadable)
    const scratches = runs.filter((name) => !name.endsWith('.owner') || !runs.includes(name.slice(0, -6)))
    return [...entries.filter((name) => !['run', 'trash', 'out'].includes(name)), ...scratches]
  }

  /** Running processes of this world, found by `STINT_TMP_ROOT` in their environment. */
  processes(): number[] {
    const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
    return pids.filter((pid) => {
      try {
        // That of a zombie is empty.
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`STINT_TMP_ROOT=${this.tmp}\0`)
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
    // From Node 24 on, `rmSync` stops without an error where a dying process removes a file before it does.
    do rmSync(this.tmp, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    while (existsSync(this.tmp))
  }
}

/** Waits for a condition. `boundMs` only ends a test that would hang. */
export async function until(what: string, condition: () => unknown, boundMs = 60_000): Promise<void> {
  const end = Date.now() + boundMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`still not so: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Is this process still running? A zombie is not. */
export function isRunning(pid: number): boolean {
  const stat = readProcessStat(pid)
  return stat !== undefined && !(stat.state === 'Z' && stat.threads <= 1)
}

/** Is this process stopped, by a signal or by Ctrl-Z? */
export const isStopped = (pid: number): boolean => readProcessStat(pid)?.state === 'T'

/** Kills a process that may have ended already. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
