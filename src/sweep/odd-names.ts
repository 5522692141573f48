import { isUtf8 } from 'node:buffer'
import { lstatSync, readdirSync, renameSync } from 'node:fs'
import { exactPath, latin1Of } from '../primitives/exact-path.ts'
import { ulid } from '../primitives/id.ts'
import { codedError, errnoOf } from '../primitives/stint-error.ts'
import { geteuid } from '../primitives/user.ts'

/** Names in Latin-1 of what has a name that is no UTF-8: by a path that is text, nobody reaches it. */
export function oddNamesIn(directory: string): string[] {
  try {
    return readdirSync(directory, 'latin1').filter((name) => !isUtf8(Buffer.from(name, 'latin1')))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw codedError(error, `list ${directory}`)
  }
}

/** In the trash a name means nothing any more: with a plain one, an odd entry goes as all the others do. */
export function givePlainNames(trash: string): void {
  for (const name of oddNamesIn(trash)) {
    const path = exactPath(`${latin1Of(trash)}/${name}`)
    try {
      if (lstatSync(path).uid === geteuid()) renameSync(path, `${trash}/odd-${ulid()}`)
    } catch {
      // Somebody else has taken it, or it cannot be moved: it stays as it is.
    }
  }
}
