import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hookBin } from './hook-host.ts'
import { callEvent, hookScript, ScriptWorld } from './hook-script.ts'
import { isStopped, until } from './world.ts'

/** Runs the script in bash, which stops itself before the command with the number `STOP_AT`. */
const stepper = `trap 'echo "$steps" >"$STEPS"' EXIT
step() { [ "$BASH_SUBSHELL" -gt 0 ] || [ "$((steps += 1))" -ne "$STOP_AT" ] || kill -STOP $$; }
trap step DEBUG
. "$0"`

/** The events around a hook that was stopped in the middle, and then continued or killed. */
export interface SteppedHook {
  step: number
  /** Another session got the workspace meanwhile. */
  taken: boolean
  /** The hook let its call begin. */
  allowed: boolean
}

/**
 * A session whose claim has expired, and whose pass has not. Its next hook is stopped before one of its
 * commands, for as long as another session tries to take the workspace.
 */
export class StoppedHooks extends ScriptWorld {
  readonly #expired = join(this.tmp, 'expired')

  constructor() {
    super()
    this.pre('one')
    this.post('one')
    for (const name of readdirSync(this.locks)) {
      const path = join(this.locks, name)
      const text = readFileSync(path, 'utf8')
      writeFileSync(path, text.replace(/"until":\d+,"until_wall":\d+/, '"until":1,"until_wall":1'))
    }
    cpSync(this.home, this.#expired, { recursive: true })
  }

  /** How many commands the script has after it has listed the epochs: from then on it does not look again. */
  static readonly afterListing = 10

  /** How many commands the script has, if nothing has to be decided. */
  async countSteps(): Promise<number> {
    await this.#play('before', 0, 'SIGCONT')
    return Number(readFileSync(join(this.tmp, 'steps'), 'utf8'))
  }

  /** Stops a hook before its command number `step`, lets another session try, and sends a signal. */
  async stopAt(step: number, then: 'SIGCONT' | 'SIGKILL'): Promise<SteppedHook> {
    return this.#play(`stopped-${step}`, step, then)
  }

  async #play(call: string, step: number, then: 'SIGCONT' | 'SIGKILL'): Promise<SteppedHook> {
    rmSync(this.home, { recursive: true, force: true })
    cpSync(this.#expired, this.home, { recursive: true })
    const words = ['--posix', '-T', '-c', stepper, hookScript, this.node, hookBin, 'claude']
    const child = spawn('bash', words, {
      env: { ...this.env, STOP_AT: String(step), STEPS: join(this.tmp, 'steps') },
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: this.workspace,
    })
    const exit = once(child, 'exit') as Promise<[number | null]>
    child.stdin.end(callEvent('PreToolUse', call, { cwd: this.workspace }))
    if (step > 0) await until('the hook is stopped', () => isStopped(child.pid ?? 0))
    const taken = step > 0 && this.pre('taker', { session: 'session-b' }).code === 0
    child.kill(then)
    const [code] = await exit
    return { step, taken, allowed: code === 0 }
  }
}
