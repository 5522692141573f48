import { join } from 'node:path'
import { appendBoundedLog } from '../base/fs/bounded-log.ts'
import { ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { redactRawEnvironmentSecrets } from '../secrets/index.ts'

/** A fault of a hook, which let the agent go on. */
export interface HookWarning {
  agent: string
  event: string
  session?: string
  warning: string
}

const maxBytes = 256 << 10
/** Characters kept of each field. */
const maxLength = 2000

/** Appends a line of JSON to `hook.log` in the home, and keeps the last 256 to 512 KiB. Never throws. */
export function noteWarning(warning: HookWarning, env: NodeJS.ProcessEnv = process.env): void {
  try {
    const home = stintHome(env)
    ensureHomeDirectory(home)
    const at = new Date().toISOString()
    // Redact before cutting and encoding: a secret that is cut in two or JSON-escaped would not be found.
    const [agent, event, session, text] = [
      warning.agent,
      warning.event,
      warning.session,
      warning.warning,
    ].map((field) => field && redactRawEnvironmentSecrets(field, env).slice(0, maxLength))
    const line = JSON.stringify({ at, agent, event, session, warning: text })
    appendBoundedLog(join(home, 'hook.log'), `${line}\n`, maxBytes)
  } catch {
    // An unwritable home is often the very fault to report.
  }
}
