import { join } from 'node:path'
import { appendBoundedLog } from '../base/fs/bounded-log.ts'
import { ensureHomeDirectory, homePath } from '../base/fs/home.ts'
import { isString } from '../base/text/fields.ts'
import { registerEnvironmentSecrets } from '../secrets/index.ts'

/** A fault of a hook, which let the agent go on. */
interface HookWarning {
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
    // A home of another format still takes a line of its log: that it was refused is what the line says.
    const home = homePath(env)
    ensureHomeDirectory(home)
    const at = new Date().toISOString()
    const { gate } = registerEnvironmentSecrets(env)
    // Remove secrets before cutting: the gate does not find half of one.
    const clean = (_: string, field: unknown): unknown =>
      isString(field) ? gate.text(field).slice(0, maxLength) : field
    const line = JSON.stringify({ at, ...warning }, clean)
    appendBoundedLog(join(home, 'hook.log'), `${line}\n`, maxBytes)
  } catch {
    // An unwritable home is often the very fault to report.
  }
}
