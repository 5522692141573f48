import { StintError } from '../../base/errors/stint-error.ts'
import { type DiskUse, type DriverStore, FilesystemDriver } from '../../session/index.ts'
import type { SessionSpace } from '../../sweep/index.ts'

/** Measures every session, the largest first, and what is in the trash. */
export async function measureSessions({ driver }: Pick<DriverStore, 'driver'>) {
  const measured = (await driver.diskUse?.()) ?? (await (await driver.files?.())?.diskUse())
  if (measured === undefined)
    throw new StintError('ARG_ERROR', `sessions of the store ${driver.id} cannot be measured`)
  const { trashBytes, trashDiskBytes = trashBytes } = measured
  const sessions = measured.sessions.map(withBlocks)
  sessions.sort((a, b) => b.disk_bytes - a.disk_bytes || (a.session_id < b.session_id ? -1 : 1))
  return { sessions, trashBytes, trashDiskBytes }
}

/** Measures the sessions in the home for the history of the disk; undefined if that is not possible. */
export async function measureSessionSpace(): Promise<SessionSpace | undefined> {
  try {
    const { sessions, trashDiskBytes } = await measureSessions({ driver: new FilesystemDriver() })
    const sessions_disk_bytes = sessions.reduce((sum, { disk_bytes }) => sum + disk_bytes, 0)
    return { sessions_disk_bytes, trash_disk_bytes: trashDiskBytes }
  } catch {
    // `stint doctor` reports what is wrong with the home.
    return undefined
  }
}

/** A server knows only what its rows take, as they are stored. */
function withBlocks(use: DiskUse): Required<DiskUse> {
  const { journal, audit, blobs, snapshots, quarantine, other } = use
  const { disk_bytes = use.bytes, disk = { journal, audit, blobs, snapshots, quarantine, other } } = use
  return { ...use, disk_bytes, disk }
}
