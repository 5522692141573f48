import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesystemStore } from '../../src/session/files/medium.ts'
import type { SessionStore } from '../../src/session/store.ts'
import { type Refusal, SessionHolder } from './session-holder.ts'
import { type Finished, type Running, World } from './world.ts'

/** A world with a store in the home that its commands use. */
export class SessionWorld extends World {
  readonly home = join(this.tmp, 'home')
  readonly sessions = join(this.home, 'sessions')
  readonly store: SessionStore = filesystemStore({ home: this.home })

  /** Runs a `sessions` command with `--json`. */
  run(command: string, ...args: string[]): Promise<Finished> {
    return this.stint(['sessions', command, '--json', ...args], { cwd: this.tmp })
  }

  audit(command: string, ...args: string[]): Promise<Finished> {
    return this.stint(['audit', command, '--json', ...args], { cwd: this.tmp })
  }

  path(id: string, ...names: string[]): string {
    return join(this.sessions, id, ...names)
  }

  /** Makes a closed session with this many messages. */
  async make(id: string, messages = 3): Promise<string> {
    await using session = await this.store.create({ id, tool: 'test', title: `about ${id}` })
    for (let n = 1; n <= messages; n++) await session.append({ type: 'message', data: { n } })
    return id
  }

  /** Starts a process that holds a session, which it creates if needed, and writes events on demand. */
  async hold(id: string, purpose = 'hold it'): Promise<Holding> {
    const holder = await SessionHolder.start(this, this.home)
    let written = await holder.tell({ do: 'resume', id, options: { purpose } }).then(
      (resumed) => (resumed as { lastSeq: number }).lastSeq,
      async (error: Refusal) => {
        if (error.code !== 'NOT_FOUND') throw error
        await holder.tell({ do: 'create', options: { id, purpose } })
        return 0
      },
    )
    const { running } = holder
    return {
      ...running,
      async write(count) {
        for (let i = 0; i < count; i++)
          await holder.tell({ do: 'append', type: 'message', data: { n: ++written } })
      },
      async close() {
        await holder.tell({ do: 'close' })
        running.child.send({ do: 'leave' })
        await running.finished
      },
    }
  }

  /** Changes one record of a journal, and removes the snapshot. */
  damage(id: string, seq: number, file = 'journal.log'): void {
    const path = this.path(id, file)
    const lines = readFileSync(path, 'utf8').split('\n')
    lines[seq - 1] = (lines[seq - 1] ?? '').replace('"type":', '"tyqe":')
    writeFileSync(path, lines.join('\n'))
    rmSync(this.path(id, 'snapshot.json'), { force: true })
  }
}

export interface Holding extends Running {
  /** Writes this many more events; on return they are on disk. */
  write(count: number): Promise<void>
  /** Closes the session and ends the process. */
  close(): Promise<void>
}

// oxlint-disable-next-line typescript/no-explicit-any -- what an answer has is what the tests are about
export type Answer = any

export const dataOf = (result: Finished): Answer => result.envelope().data
export const errorOf = (result: Finished): Answer => result.envelope().error

/** The JSON object on each line that is not empty. */
export const jsonLines = (text: string): Answer[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
