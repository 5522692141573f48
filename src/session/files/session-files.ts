import { join } from 'node:path'
import type { Clock } from '../../base/process/clock.ts'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import { withHomeErrors } from '../../base/fs/home.ts'
import { measureTree } from '../../base/fs/measure-tree.ts'
import type { Exported } from './archive/export.ts'
import type { Imported } from './archive/import.ts'
import type { DiskUse } from './disk-use.ts'
import { sessionIdsIn } from './find-session.ts'
import { sessionPathsIn } from './paths.ts'
import type { RepairPlan } from './repair/repair-plan.ts'
import type { Repaired } from './repair/repair.ts'
import { sessionsDirectoryIn } from './sessions-directory.ts'

/** What only a store in plain files can do. */
export interface SessionFiles {
  /** The directory where removed sessions lie until the sweep deletes them. */
  readonly trash: string
  /** The directory of a session. */
  path(id: string): string
  /** The paths of everything that was cut off, set aside or replaced by a repair. */
  quarantined(id: string): string[]
  /** Measures every session by kind of file, and the trash. */
  diskUse(): Promise<{ sessions: DiskUse[]; trashBytes: number }>
  /** Verifies a session and passes it to `write` as an archive, piece by piece. */
  export(id: string, write: (bytes: Uint8Array) => void): Promise<Exported>
  /** Creates a session from an archive; with its own id if that is free and no other is given. */
  import(chunks: AsyncIterable<Buffer>, id?: string): Promise<Imported>
  /** Says what a repair would do, and changes nothing. */
  planRepair(id: string): Promise<RepairPlan>
  /** Makes a damaged session resumable. */
  repair(id: string): Promise<Repaired | RepairPlan>
}

/** The files of all sessions in a home. Archives, repairs and measuring are loaded when they are used. */
export function sessionFilesIn(home: string, disk: Disk, clock: Clock): SessionFiles {
  const sessions = sessionsDirectoryIn(home)
  const trash = join(home, 'trash')
  const explained = <Result>(id: string, act: () => Result): Result =>
    withHomeErrors(home, `look into ${join(sessions, id)}`, act)
  return {
    trash,
    path: (id) => sessionPathsIn(join(sessions, id)).root,
    quarantined(id) {
      const { quarantine } = sessionPathsIn(join(sessions, id))
      return explained(id, () => listIfExists(disk, quarantine).map((name) => join(quarantine, name)))
    },
    async diskUse() {
      const { diskUseOf } = await import('./disk-use.ts')
      const seen = new Set<string>()
      const uses = withHomeErrors(home, `read ${sessions}`, () =>
        sessionIdsIn(disk, sessions).map((id) => diskUseOf(join(sessions, id), id, seen)),
      )
      return { sessions: uses, trashBytes: measureTree(trash) }
    },
    async export(id, write) {
      const { exportSession } = await import('./archive/export.ts')
      return exportSession({ disk, sessions, id, now: clock.now(), write })
    },
    async import(chunks, id) {
      const { importSession } = await import('./archive/import.ts')
      return await importSession({ disk, home, now: clock.now(), id, chunks })
    },
    async planRepair(id) {
      const { previewRepair } = await import('./repair/repair.ts')
      return previewRepair({ disk, clock, sessions, id })
    },
    async repair(id) {
      const { repairSession } = await import('./repair/repair.ts')
      return await repairSession({ disk, clock, sessions, id })
    },
  }
}
