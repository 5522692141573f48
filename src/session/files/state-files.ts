import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { renameOnDisk } from '../../base/fs/atomic-file.ts'
import { type Disk, makeIfMissing, readFile } from '../../base/fs/disk.ts'
import { headName } from '../log/snapshot.ts'

/**
 * The texts of a session's state, as files that a user can read: `snapshot.json` has the head, and
 * `state/<slot>.json` has each slot. They are a cache of the logs, so only a close syncs them.
 */
export class StateFiles {
  readonly #disk: Disk
  readonly #root: string
  readonly #directory: string
  #isMade = false

  constructor(disk: Disk, root: string, directory: string) {
    this.#disk = disk
    this.#root = root
    this.#directory = directory
  }

  /** Replaces texts by renames. The close that follows syncs the name of the head, with the manifest's. */
  async save(texts: ReadonlyMap<string, string>, isClosing: boolean): Promise<void> {
    const hasSlots = [...texts.keys()].some((name) => name !== headName)
    if (hasSlots && !this.#isMade) await makeIfMissing(this.#disk, this.#directory)
    this.#isMade ||= hasSlots
    for (const [name, text] of texts)
      await renameOnDisk(this.#disk, this.#pathOf(name), Buffer.from(text), isClosing)
    if (hasSlots && isClosing) await this.#disk.syncDirectory(this.#directory)
  }

  /** Those of the texts that are there. */
  read(names: readonly string[]): Map<string, string> {
    const texts = new Map<string, string>()
    for (const name of names) {
      const bytes = readFile(this.#disk, this.#pathOf(name))
      if (bytes !== undefined) texts.set(name, bytes.toString())
    }
    return texts
  }

  #pathOf(name: string): string {
    if (name === headName) return join(this.#root, 'snapshot.json')
    return join(this.#directory, `${fileNameOf(name)}.json`)
  }
}

/** The longest name that every file system takes, without the suffix and that of a temp file. */
const maxNameLength = 200

/** A slot's name as the name of a file: a slash and a leading dot are escaped, and a long name is cut. */
export function fileNameOf(slot: string): string {
  const escaped = slot.replace(/^\./, '%2E').replaceAll('/', '%2F')
  if (escaped.length <= maxNameLength) return escaped
  const hash = createHash('sha256').update(slot).digest('hex')
  return `${escaped.slice(0, maxNameLength - 65)}%${hash}`
}
