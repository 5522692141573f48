import { join, relative } from 'node:path'
import { appendPrivateFile, makePrivateDirectory } from '../base/fs/private-file.ts'
import { metaDirectory } from './owner.ts'
import { makePathIn, creationError } from './create-in.ts'

/** `.stint/contexts.log`: which directory belongs to which context, a JSON object a line. */
export const contextsLog = 'contexts.log'

/** Makes the directory of the `count`th context of a scratch, and writes down whose it is. */
export function makeContextDirectory(
  parent: string,
  { scratch, count, name, file }: { scratch: string; count: number; name: string; file?: string },
): string {
  const path = join(parent, `${count}-${slug(name)}`)
  try {
    makePrivateDirectory(path)
    logContext(scratch, path, name, file)
  } catch (error) {
    throw creationError(error, path)
  }
  return path
}

/** Beside the owner record of a scratch; in a directory of kept files there is nothing else yet. */
export function logContext(top: string, path: string, name: string, file: string | undefined): void {
  const line = { dir: relative(top, path), name, file: file ?? null }
  appendPrivateFile(makePathIn(top, [metaDirectory, contextsLog]), `${JSON.stringify(line)}\n`)
}

/** Short: a path to a socket has a hundred bytes or so. */
const slug = (name: string): string =>
  (name.split(' > ').at(-1) ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 16)
    .replace(/-$/, '')
