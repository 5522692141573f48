import { join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { createScratch, type Scratch } from '../../scratch/index.ts'
import {
  type DriverStore,
  FilesystemDriver,
  type SessionFiles,
  type TransferDriver,
} from '../../session/index.ts'

/** A home in a scratch, and the way between it and the server. */
interface ServerStage {
  transfer: TransferDriver
  home: FilesystemDriver
  scratch: Scratch
}

type Imported = Awaited<ReturnType<SessionFiles['import']>>

/**
 * Where sessions become archives, and archives sessions. A store in files does that itself. For a server it
 * is a home in a scratch: sessions are copied there and back, verified to the byte each time.
 */
export class ArchiveStage implements Disposable {
  readonly files: SessionFiles
  readonly #server: ServerStage | undefined

  static async open({ driver }: DriverStore): Promise<ArchiveStage> {
    const own = await driver.files?.()
    if (own !== undefined) return new ArchiveStage(own)
    const { transfer } = driver
    if (transfer === undefined)
      throw new StintError('ARG_ERROR', `sessions of the store ${driver.id} cannot be archived`)
    const scratch = createScratch({ command: 'stint sessions' })
    const home = new FilesystemDriver({ home: join(scratch.path, 'home') })
    return new ArchiveStage(await home.files(), { transfer, home, scratch })
  }

  private constructor(files: SessionFiles, server?: ServerStage) {
    this.files = files
    this.#server = server
  }

  /** Brings a session here for its export. `SESSION_LOCKED` while a process holds a session of a server. */
  async fetch(id: string): Promise<void> {
    if (this.#server === undefined) return
    const { transfer, home } = this.#server
    await home.transfer.write(await transfer.read(id), id)
  }

  /** Takes an imported session to its store: under its own id if that is free and no other is given. */
  async deliver(imported: Imported, id: string | undefined): Promise<Imported> {
    if (this.#server === undefined) return imported
    const { transfer, home } = this.#server
    const session = await home.transfer.read(imported.session_id)
    try {
      return { ...imported, session_id: await transfer.write(session, id ?? imported.session_id) }
    } catch (error) {
      if (errorCode(error) !== 'NAME_TAKEN' || id !== undefined) throw error
      return { ...imported, session_id: await transfer.write(session) }
    }
  }

  [Symbol.dispose](): void {
    this.#server?.scratch[Symbol.dispose]()
  }
}
