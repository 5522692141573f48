import { existsSync } from 'node:fs'
import { stintHome } from '../base/fs/home.ts'
import { vaultDirectory } from './conversation-record.ts'

/** The copier gets only these variables: with that of a session, it would be a process of that session. */
const passedOn = /^(?:PATH|TMPDIR|(?:\w+_)?HOME|CLAUDE_CONFIG_DIR|QWEN_RUNTIME_DIR)$/

/**
 * Starts `program`, which copies what is new in a transcript into the vault, if the user has one. An agent
 * waits for the caller, a hook: this costs one `stat` and one `spawn`, waits for nothing and never throws.
 * The process runs in `/` and without the session's variables: it does not count as work of the session.
 * `stop`: a turn is over, or a compaction is about to rewrite the transcript. `end`: the session is over, so
 * its last line is taken even if it is torn. `start`: all sessions of the agent are copied, since some may
 * have ended without an event.
 */
export function copyTranscriptDetached(
  { agent, sessionId, moment }: { agent: string; sessionId: string; moment: 'start' | 'stop' | 'end' },
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
