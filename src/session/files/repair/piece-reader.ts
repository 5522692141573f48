import { join } from 'node:path'
import type { LogFiles } from '../../log/log-files.ts'
import { readFully } from '../../../base/fs/disk.ts'
import type { IntactLine } from './salvage.ts'

/** Reads intact lines of a damaged log again. Each of its files is opened once. */
export class PieceReader implements Disposable {
  readonly #place: LogFiles
  readonly #files = new Map<string, number>()

  constructor(place: LogFiles) {
    this.#place = place
  }

  read({ segment, offset, bytes }: IntactLine): Buffer {
    const { disk, directory } = this.#place
    const file = this.#files.get(segment) ?? disk.openToRead(join(directory, segment))
    this.#files.set(segment, file)
    return readFully(disk, file, offset, bytes)
  }

  [Symbol.dispose](): void {
    for (const file of this.#files.values()) this.#place.disk.close(file)
  }
}
