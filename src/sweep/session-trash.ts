import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { withHomeErrors, homeUnsafe, stintHome } from '../base/fs/home.ts'
import { isSessionId } from '../base/text/id.ts'
import { ownDirectoryProblem } from '../base/fs/own-directory.ts'

/**
 * `$STINT_HOME/trash`, where removed sessions wait to be deleted; undefined if there is none. What is not a directory of ours is
 * `HOME_UNSAFE`: a link would have the sweep delete somewhere else.
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

/** What every session has, from the beginning. */
const manifestFile = 'manifest.json'

/** A name may be anybody's: what makes a directory a session is its manifest, a file and no link. */
export const isTrashedSession = (name: string, trash: string): boolean =>
  isSessionName(name) && isFile(join(trash, name, manifestFile))

/** `<sessionId>`, or `<sessionId>-<something>`, for a session that was removed more than once. */
const isSessionName = (name: string): boolean =>
  isSessionId(name) || (/-[A-Za-z0-9._]+$/.test(name) && isSessionId(name.slice(0, name.lastIndexOf('-'))))

function isFile(path: string): boolean {
  try {
    return lstatSync(path).isFile()
  } catch {
    return false
  }
}
