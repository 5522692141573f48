import { join } from 'node:path'
import { listIfExists } from '../../base/fs/disk.ts'
import { homeError, withHomeErrors } from '../../base/fs/home.ts'
import { SpaceCounter } from '../../base/fs/disk-space.ts'
import { measureSteps } from '../../base/fs/measure-tree.ts'
import { runInTurns } from '../../base/process/run-generator.ts'
import { type DiskUse, type MeasuredSessions, measureSession } from './disk-use.ts'
import { type Repair, repairSession } from './repair.ts'
import { sessionIdsIn, type SessionsHome } from './session-directory.ts'

/** The operations that only a store in plain files has. */
export interface SessionFiles {
  /** The directory of removed sessions, until the sweep deletes them. */
  readonly trash: string
  /** The directory of a session. */
  path(id: string): string
  /** The paths of everything that was cut off or set aside. */
  quarantined(id: string): string[]
  /** Measures every session by kind of file, and the trash. */
  diskUse(): Promise<MeasuredSessions>
  /** Copies what is intact of a damaged session into a new one; a dry run only says what that is. */
  repair(id: string, isDryRun: boolean): Promise<Repair>
}

/** Operations on the files of all sessions in a home. */
export function sessionFilesIn(home: SessionsHome): SessionFiles {
  const { disk, sessions, trash } = home
  return {
    trash,
    path: (id) => join(sessions, id),
    quarantined(id) {
      const { root, quarantine } = home.directoryOf(id).paths
      return withHomeErrors(home.path, `look into ${root}`, () =>
        listIfExists(disk, quarantine).map((name) => join(quarantine, name)),
      )
    },
    async diskUse() {
      const counter = new SpaceCounter()
      const uses: DiskUse[] = []
      try {
        for (const id of sessionIdsIn(disk, sessions))
          uses.push(await runInTurns(measureSession(join(sessions, id), id, counter)))
      } catch (error) {
        throw homeError(error, home.path, `read ${sessions}`)
      }
      const removed = await runInTurns(measureSteps(trash, { counter }))
      return { sessions: uses, trashBytes: removed.bytes, trashDiskBytes: removed.disk_bytes }
    },
    repair: (id, isDryRun) => repairSession(home, id, isDryRun),
  }
}
