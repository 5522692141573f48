import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { homeUnsafe, stintHome, withHomeErrors } from '../base/fs/home.ts'
import { ownDirectoryProblem } from '../base/fs/own-directory.ts'
import { isSessionId } from '../base/text/id.ts'

/**
 * Finds `$STINT_HOME/trash`, where removed sessions wait to be deleted; undefined if it is missing. Throws
 * `HOME_UNSAFE` for anything but a directory of this user: a link would make the sweep delete elsewhere.
 */
export function findSessionTrash(home: string = stintHome()): string | undefined {
  for (const path of [home, join(home, 'trash')]) {
    const stat = withHomeErrors(home, 'look for the trash', () => lstatSync(path, { throwIfNoEntry: false }))
    if (stat === undefined) return undefined
    const problem = ownDirectoryProblem(stat)
    if (problem !== undefined) throw homeUnsafe(path, problem)
  }
  return join(home, 'trash')
}

/** Every session has one from the beginning. */
const manifestFile = 'manifest.json'

/** The name alone proves nothing: a directory is a session if it contains a manifest, as a regular file. */
export const isTrashedSession = (name: string, trash: string): boolean =>
  isSessionName(name) && isFile(join(trash, name, manifestFile))

/** `<sessionId>`, or `<sessionId>-<suffix>` if the trash already had a session with that id. */
const isSessionName = (name: string): boolean =>
  isSessionId(name) || (/-[A-Za-z0-9._]+$/.test(name) && isSessionId(name.slice(0, name.lastIndexOf('-'))))

function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile()
  } catch {
    return false
  }
}
