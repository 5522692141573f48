import { StintError } from '../../base/errors/stint-error.ts'
import type { DiskUse, DriverStore } from '../../session/index.ts'

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

/** A server knows only what its rows take, as they are stored. */
function withBlocks(use: DiskUse): Required<DiskUse> {
  const { journal, audit, blobs, snapshots, quarantine, other } = use
  const { disk_bytes = use.bytes, disk = { journal, audit, blobs, snapshots, quarantine, other } } = use
  return { ...use, disk_bytes, disk }
}
