import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { openPrivateFile, writeAll } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { explained } from '../base/errors/if-possible.ts'
import { codedError } from '../base/errors/stint-error.ts'
import { makePathIn } from './create-in.ts'
import { metaDirectory, type Owner } from './owner.ts'

/** `.stint/children.pids`: one line per child of the run, `pid start-time program`. */
const childrenFile = 'children.pids'

const childrenPath = (scratch: string): string => join(scratch, metaDirectory, childrenFile)

/**
 * Appends to the record of children. The file is opened before the first child is started, so a child that
 * damages its scratch cannot prevent the next entry. It begins with an empty line: that takes the space for
 * the first entries, and a full disk shows before a child runs.
 */
export class ChildrenRecord {
  readonly path: string
  readonly #fd: number
  readonly #scratch: string
  #torn = false

  constructor(scratch: string) {
    this.#scratch = scratch
    this.path = childrenPath(scratch)
    this.#fd = explained(
      (error) => codedError(error, `record children in ${scratch}`),
      () => {
        const fd = openPrivateFile(makePathIn(scratch, [metaDirectory, childrenFile]), 'a')
        writeAll(fd, '\n')
        return fd
      },
    )
  }

  add({ pid, started }: Identity, program: string): void {
    const name = basename(program).replace(/\s+/g, ' ')
    try {
      // A full disk may have torn the previous line; start this one on a new line.
      writeAll(this.#fd, `${this.#torn ? '\n' : ''}${pid} ${started ?? '-'} ${name}\n`)
      this.#torn = false
    } catch (error) {
      this.#torn = true
      throw codedError(error, `record the child ${pid} in ${this.#scratch}`)
    }
  }
}

/** Reads the recorded children, without a torn last line; undefined if the record cannot be read. */
export function readChildren(scratch: string, owner: Owner): Identity[] | undefined {
  const path = childrenPath(scratch)
  const text = readSmallFile(path)
  if (text === undefined) return lstatSync(path, { throwIfNoEntry: false }) === undefined ? [] : undefined
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const [pid, started] = line.split(' ', 2)
      const child = { ...owner.identity, pid: Number(pid), started: started === '-' ? null : Number(started) }
      return parseIdentity(child) ?? []
    })
}
