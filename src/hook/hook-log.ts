import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
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

const hookLogPath = (home: string): string => join(home, 'hook.log')

/** Appends a line of JSON to `hook.log` in the home, and keeps the last 512 KiB. Never throws. */
export function noteWarning(warning: HookWarning, env: NodeJS.ProcessEnv = process.env): void {
  try {
    const home = stintHome(env)
    ensureHomeDirectory(home)
    const path = hookLogPath(home)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    // Do not write through a link, or into anything else than a regular file.
    if (stat !== undefined && !stat.isFile()) return
    if (stat !== undefined && stat.size > maxBytes) renameSync(path, `${path}.1`)
    const at = new Date().toISOString()
    // Redact before cutting and encoding: a secret that is cut in two or JSON-escaped would not be found.
    const [agent, event, session, text] = [
      warning.agent,
      warning.event,
      warning.session,
      warning.warning,
    ].map((field) => field && redactRawEnvironmentSecrets(field, env).slice(0, maxLength))
    appendPrivateFile(path, `${JSON.stringify({ at, agent, event, session, warning: text })}\n`)
  } catch {
    // An unwritable home is often the very fault to report.
  }
}
