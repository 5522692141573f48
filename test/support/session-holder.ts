import type { SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { projectRoot, type Running, type World } from './world.ts'

const program = join(projectRoot, 'test/fixtures/session-holder.mjs')
const withMessages: SpawnOptions = { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }

export interface Refusal {
  code: string
  message: string
  exit: number
}

/** A process that holds a session and obeys orders. */
export class SessionHolder {
  readonly running: Running
  /** The pid as this process sees it. */
  readonly pid: number

  private constructor(running: Running) {
    this.running = running
    this.pid = running.pid
  }

  static async start(world: World, home: string): Promise<SessionHolder> {
    return await this.#ready(world.start(process.execPath, [program, home], withMessages))
  }

  /** Starts the holder in a pid namespace of its own: other processes cannot see whether it is alive. */
  static async startElsewhere(world: World, home: string): Promise<SessionHolder> {
    const namespaces = ['--pid', '--fork', '--kill-child', '--mount-proc']
    return await this.#ready(world.startUnshared(namespaces, process.execPath, [program, home], withMessages))
  }

  static async #ready(running: Running): Promise<SessionHolder> {
    const holder = new SessionHolder(running)
    await holder.answer()
    return holder
  }

  /** Waits for the next answer; throws if it is a refusal. */
  async answer(): Promise<unknown> {
    const gone = this.running.finished.then(({ stderr }) => {
      throw new Error(`the holder has ended: ${stderr}`)
    })
    const [message] = (await Promise.race([once(this.running.child, 'message'), gone])) as [
      { answer?: unknown; error?: Refusal },
    ]
    if (message.error !== undefined) throw Object.assign(new Error(message.error.message), message.error)
    return message.answer
  }

  async tell(order: { do: string; [more: string]: unknown }): Promise<unknown> {
    const answer = this.answer()
    this.running.child.send(order)
    return await answer
  }

  async signal(signal: NodeJS.Signals): Promise<void> {
    this.running.child.kill(signal)
    if (signal === 'SIGKILL') await this.running.finished
  }
}
