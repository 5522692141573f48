import { isUtf8 } from 'node:buffer'
import { lstatSync, renameSync } from 'node:fs'
import { bytePath, latin1Of, readable } from '../base/fs/byte-path.ts'
import { ulid } from '../base/text/id.ts'
import { geteuid } from '../base/process/platform.ts'

/** Sorts names in Latin-1 into those that are UTF-8, as text, and odd ones, as they are: no path that is text can reach those. */
export function splitByEncoding(latin1: readonly string[]): { names: string[]; odd: string[] } {
  const names: string[] = []
  const odd: string[] = []
  for (const name of latin1)
    if (isUtf8(Buffer.from(name, 'latin1'))) names.push(readable(name))
    else odd.push(name)
  return { names, odd }
}

/** Renames an odd entry of the trash, where names mean nothing, so that it can go like all the others. Returns the new name, or undefined if it cannot be renamed. */
export function renameToPlain(trash: string, odd: string): string | undefined {
  const path = bytePath(`${latin1Of(trash)}/${odd}`)
  const name = `odd-${ulid()}`
  try {
    if (lstatSync(path).uid !== geteuid()) return undefined
    renameSync(path, `${trash}/${name}`)
    return name
  } catch {
    // Somebody else has taken it, or it cannot be moved: it stays as it is.
    return undefined
  }
}
