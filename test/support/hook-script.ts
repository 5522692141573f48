import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isHostVariable } from '../../src/hooks/install/agents.ts'
import { hookBin } from './hook-host.ts'
import type { Claim } from '../../src/lease/index.ts'
import { LockWorld, recordedClaims } from './lock-world.ts'
import { projectRoot, type Running } from './world.ts'

export const hookScript = join(projectRoot, 'dist/bin/stint-hook.sh')

/** What the settings of a user start. */
export const scriptWords = [hookScript, process.execPath, hookBin]

/** The shells that may be `sh`, each with the words that start it so. */
export const shells: Readonly<Record<string, readonly string[]>> = {
  dash: ['dash'],
  bash: ['bash', '--posix'],
  'busybox ash': ['busybox', 'sh'],
  zsh: ['zsh', '--emulate', 'sh'],
}

/** The end of a script that an agent has started. */
export interface ScriptEnd {
  code: number | null
  stdout: string
  stderr: string
  /** Whether it has started Node. */
  usedNode: boolean
}

export interface CallOptions {
  session?: string
  cwd?: string
  tool?: string
  input?: object
  /** Properties of the event that come before its tool. */
  before?: object
  /** Properties that come after the arguments of its tool. */
  after?: object
}

/** An event of Claude Code about a call, with its properties in the agent's order. */
export const callEvent = (event: string, call: string, options: CallOptions & { cwd: string }): string =>
  JSON.stringify({
    session_id: options.session ?? 'session-a',
    transcript_path: '/home/u/.claude/projects/p/session-a.jsonl',
    cwd: options.cwd,
    permission_mode: 'default',
    effort: { level: 'high' },
    ...options.before,
    hook_event_name: event,
    tool_name: options.tool ?? 'Bash',
    tool_input: options.input ?? { command: 'echo "a" {b} \\ > c', description: 'Write' },
    ...options.after,
    tool_use_id: call,
  })

/** A workspace, a home, and an agent, this process, that starts the script for each event. */
export class ScriptWorld extends LockWorld {
  shell: readonly string[] = ['sh']
  flags: readonly string[] = []
  /** Notes each start, and becomes Node. */
  readonly node = join(this.tmp, 'node')

  constructor() {
    super()
    this.useNode()
    for (const name of Object.keys(this.env)) if (isHostVariable(name)) this.env[name] = undefined
  }

  useNode(): void {
    this.#writeNode(`exec "${process.execPath}" "$@"`)
  }

  /** From now on, only the start of Node is noted, for tests of the script alone. */
  replaceNode(): void {
    this.#writeNode('exit 0')
  }

  #writeNode(then: string): void {
    writeFileSync(this.node, `#!/bin/sh\necho started >>"${this.tmp}/started"\n${then}\n`)
    chmodSync(this.node, 0o755)
  }

  get words(): string[] {
    return [...this.shell, hookScript, this.node, hookBin, 'claude', '--no-undo', ...this.flags]
  }

  /** Sends an event, and waits for the end of the script. */
  send(input: string | Buffer, env: NodeJS.ProcessEnv = {}): ScriptEnd {
    rmSync(join(this.tmp, 'started'), { force: true })
    const [command = '', ...args] = this.words
    const options = { input, env: { ...this.env, ...env }, cwd: this.workspace, encoding: 'utf8' } as const
    const { status, stdout, stderr, error } = spawnSync(command, args, options)
    // The script may end before it has read all: the agent must not get EPIPE.
    if (error !== undefined) throw error
    return { code: status, stdout, stderr, usedNode: existsSync(join(this.tmp, 'started')) }
  }

  pre(call: string, options: CallOptions = {}): ScriptEnd {
    return this.send(callEvent('PreToolUse', call, { cwd: this.workspace, ...options }))
  }

  post(call: string, options: CallOptions = {}): ScriptEnd {
    return this.send(callEvent('PostToolUse', call, { cwd: this.workspace, ...options }))
  }

  edit(call: string, file: string, options: CallOptions = {}): ScriptEnd {
    const input = { file_path: file, old_string: 'a', new_string: 'b' }
    return this.pre(call, { tool: 'Edit', input, ...options })
  }

  stop(session = 'session-a'): ScriptEnd {
    return this.send(JSON.stringify({ session_id: session, cwd: this.workspace, hook_event_name: 'Stop' }))
  }

  startPre(call: string): Running {
    const [command = '', ...args] = this.words
    return this.start(command, args, {
      input: callEvent('PreToolUse', call, { cwd: this.workspace }),
      cwd: this.workspace,
    })
  }

  get claims(): Claim[] {
    return recordedClaims(this)
  }

  /** The file with the passes of a session. */
  pass(session = 'session-a'): string {
    return join(this.home, 'pass', session)
  }

  changePass(change: (text: string) => string): void {
    writeFileSync(this.pass(), change(readFileSync(this.pass(), 'utf8')))
  }

  link(to: string, from: string): void {
    rmSync(from, { recursive: true, force: true })
    symlinkSync(to, from)
  }

  names(directory: string): string[] {
    return existsSync(directory) ? readdirSync(directory) : []
  }
}
