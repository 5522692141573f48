import { existsSync } from 'node:fs'
import { stintHome } from '../base/fs/home.ts'
import { vaultDirectory } from './conversation-record.ts'

/** The copier gets only these variables: with that of a session, it would be a process of that session. */
const passedOn = /^(?:PATH|TMPDIR|(?:\w+_)?HOME|CLAUDE_CONFIG_DIR|QWEN_RUNTIME_DIR)$/

export interface CopyRequest {
  /** The agent that sent the event. The vault keeps nothing of an agent that it does not know. */
  agent: string
  /** The agent's own id of the session; not that of a subagent, whose files belong to the session. */
  sessionId: string
  /**
   * `stop`: a turn is over, or a compaction is about to rewrite the transcript. `end`: the session is over,
   * so its last line is taken even if it is torn. `start`: all sessions of the agent are copied, since some
   * may have ended without an event.
   */
  moment: 'start' | 'stop' | 'end'
}

/**
 * Starts a process that copies what is new in a transcript into the vault, if the user has one. The caller is
 * a hook, for which an agent waits: this costs one `stat` and one `spawn`, waits for nothing and never
 * throws. The process runs in `/` and without the session's variables, so that it does not count as work of
 * the session, at low priority, and leaves at once if another one copies this conversation: that one looks
 * for new bytes once more before it ends. Call it after the verdict was delivered. `program` is the path of
 * `vault-copy.cjs`, which is beside the hook.
 */
export function copyTranscriptDetached(
  { agent, sessionId, moment }: CopyRequest,
  program: string,
  env: NodeJS.ProcessEnv = process.env,
): void {
  try {
    if (!existsSync(vaultDirectory(stintHome(env)))) return
    // Loaded here: it takes 3 ms, and most hooks start nothing. Node 20.15 has no `getBuiltinModule`.
    const { spawn } =
      process.getBuiltinModule?.('node:child_process') ??
      (require('node:child_process') as typeof import('node:child_process'))
    const copierEnv = Object.fromEntries(Object.entries(env).filter(([name]) => passedOn.test(name)))
    const args = [program, agent, sessionId, moment]
    const child = spawn(process.execPath, args, { detached: true, stdio: 'ignore', cwd: '/', env: copierEnv })
    child.on('error', () => {})
    child.unref()
  } catch {
    // The next sync copies it.
  }
}
