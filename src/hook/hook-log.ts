import { lstatSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { redactRawEnvironmentSecrets } from '../secrets/index.ts'

/** One warning: a hook that could not do its work, and let the agent go on. */
export interface HookWarning {
  agent: string
  event: string
  session?: string
  warning: string
}

const maxBytes = 256 << 10
/** Of each field: an event may have anything in it. */
const maxLength = 2000

const hookLogPath = (home: string): string => join(home, 'hook.log')

/**
 * Notes it in `hook.log` in the home, a line of JSON; the last two times 256 KiB are kept. Never fails: it is
 * about failures.
 */
export function noteWarning(warning: HookWarning, env: NodeJS.ProcessEnv = process.env): void {
  try {
    const home = stintHome(env)
    ensureHomeDirectory(home)
    const path = hookLogPath(home)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    // A link, or anything else somebody has put there, is not ours to write to.
    if (stat !== undefined && !stat.isFile()) return
    if (stat !== undefined && stat.size > maxBytes) renameSync(path, `${path}.1`)
    const at = new Date().toISOString()
    // A secret that is cut in two, or written as JSON, would not be found.
    const [agent, event, session, text] = [
      warning.agent,
      warning.event,
      warning.session,
      warning.warning,
    ].map((field) => field && redactRawEnvironmentSecrets(field, env).slice(0, maxLength))
    appendPrivateFile(path, `${JSON.stringify({ at, agent, event, session, warning: text })}\n`)
  } catch {
    // A home that cannot be written to is often what the warning is about.
  }
}
