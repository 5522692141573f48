import { spawn } from 'node:child_process'

/** What the copier needs of the environment; without the variables of a session it is no work of one. */
const passedOn = /^(?:HOME|PATH|LANG|TMPDIR|STINT_HOME|CLAUDE_CONFIG_DIR|CODEX_HOME|QWEN_HOME|COPILOT_HOME)$/

export interface CopyRequest {
  agent: string
  /** Only this conversation; without it, all of the agent, such as those that ended without a word. */
  sessionId?: string
  /** The session has ended: its last line is complete, or never will be. */
  hasEnded?: boolean
}

/**
 * Starts a process that copies what is new into the vault, if there is one. Never waits and never throws: an
 * agent must not notice. `program` is the path of `vault-copy.cjs`.
 */
export function copyTranscriptDetached(
  { agent, sessionId = '', hasEnded = false }: CopyRequest,
  program: string,
  env: NodeJS.ProcessEnv = process.env,
): void {
  try {
    const kept = Object.fromEntries(Object.entries(env).filter(([name]) => passedOn.test(name)))
    const args = [program, agent, sessionId, hasEnded ? 'ended' : '']
    const child = spawn(process.execPath, args, { detached: true, stdio: 'ignore', cwd: '/', env: kept })
    child.on('error', () => {})
    child.unref()
  } catch {
    // The next sync copies it.
  }
}
