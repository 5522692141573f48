import { realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { ensureOwnDirectory } from './own-directory.ts'
import { StintError } from './stint-error.ts'

/** Where stint keeps what must last: `$STINT_HOME`, or `~/.stint`. */
export function stintHome(env: NodeJS.ProcessEnv = process.env): string {
  const home = env.STINT_HOME || join(homedir(), '.stint')
  if (!isAbsolute(home))
    throw new StintError('ARG_ERROR', `STINT_HOME must be an absolute path, not ${JSON.stringify(home)}`)
  try {
    // People keep their dot directories elsewhere and link to them: what counts is where it leads.
    return realpathSync.native(home)
  } catch {
    return home
  }
}

/** A directory in the home, or the home itself: made, or checked before it is trusted. */
export function ensureHomeDirectory(path: string): void {
  const problem = ensureOwnDirectory(path)
  if (problem !== undefined)
    throw new StintError('HOME_UNSAFE', `${path} ${problem}`, { detail: `path=${path}` })
}
