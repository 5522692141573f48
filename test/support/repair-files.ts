import type { FilesMedium } from '../../src/session/files/medium.ts'
import { type Repair, repairSession } from '../../src/session/repair.ts'

/** Repairs a session in files, as the command does. */
export const repairFiles = async (medium: FilesMedium, id: string, isDryRun: boolean): Promise<Repair> =>
  await repairSession(medium, await medium.files.readDamaged(id), { isDryRun, now: Date.now() })
