import { ifPossible } from '../../base/errors/if-possible.ts'
import { stintHome } from '../../base/fs/home.ts'
import { findTmp } from '../../base/fs/temp-directory.ts'
import type { DriverStore } from '../../session/index.ts'
import { readSamples } from '../../sweep/index.ts'
import type { DiskView } from '../../ui/protocol.ts'
import { readSpace } from '../health/file-system.ts'
import { measureSessions } from '../sessions/measure-sessions.ts'
import { defaultSinceMs, gatherStats } from '../temp/stats.ts'
import type { RequestQuery } from './request-query.ts'

const largestShown = 20
/** Points of a chart: more than a screen has room for. */
const maxSamples = 2000

/** The disk use of the temp directory, the sessions and their trash: now, and over time. */
export async function viewDisk(store: DriverStore, query: RequestQuery): Promise<DiskView> {
  const now = Date.now()
  const since = query.count('since') ?? now - defaultSinceMs
  const { series: _, ...stats } = await gatherStats(now, since)
  const samples = await readSamples(stintHome(), since, now)
  const every = Math.max(1, Math.ceil(samples.length / maxSamples))
  return {
    ...stats,
    samples: samples
      .filter((_sample, index) => index % every === 0)
      .map((sample) => ({
        at: sample.at,
        disk_bytes: sample.disk_bytes_found,
        sessions_disk_bytes: sample.sessions_disk_bytes ?? null,
        trash_disk_bytes: sample.trash_disk_bytes ?? null,
        files: sample.files,
        scratches: sample.scratches,
        orphans: sample.orphans_found,
      })),
    sessions: await sessionsOf(store),
    disk: [
      { name: 'home', path: ifPossible(() => stintHome()) },
      { name: 'temp', path: ifPossible(() => findTmp()) },
    ].flatMap(({ name, path }) => {
      const space = path === undefined ? undefined : ifPossible(() => readSpace(path))
      return space === undefined
        ? []
        : [{ name, free_bytes: space.free_bytes, total_bytes: space.total_bytes }]
    }),
  }
}

/** Null if the store cannot measure its sessions. */
async function sessionsOf(store: DriverStore): Promise<DiskView['sessions']> {
  try {
    const { sessions, trashBytes, trashDiskBytes } = await measureSessions(store)
    return {
      count: sessions.length,
      bytes: sessions.reduce((sum, use) => sum + use.bytes, 0),
      disk_bytes: sessions.reduce((sum, use) => sum + use.disk_bytes, 0),
      trash_bytes: trashBytes,
      trash_disk_bytes: trashDiskBytes,
      largest: sessions.slice(0, largestShown),
    }
  } catch {
    return null
  }
}
