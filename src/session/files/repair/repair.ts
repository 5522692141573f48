import { join } from 'node:path'
import { Blobs } from '../../log/blobs.ts'
import { encodeBody } from '../../log/codec.ts'
import { attestEnds } from '../../log/log-end.ts'
import type { LogFiles } from '../../log/log-files.ts'
import { cutTornTail } from '../../log/cut-torn-tail.ts'
import type { Clock } from '../../../base/process/clock.ts'
import { type Disk, makeIfMissing } from '../../../base/fs/disk.ts'
import { ulid } from '../../../base/text/id.ts'
import { ifExists } from '../../../base/fs/exists.ts'
import { withFileErrors } from '../session-file-errors.ts'
import type { Recovery } from '../../driver.ts'
import { noGuard } from '../../session-secrets.ts'
import { locateSession, readManifestFile } from '../find-session.ts'
import { linkOrCopy } from '../link-or-copy.ts'
import { logsOf } from '../logs.ts'
import { openTakenSession, takeSession } from '../open-session.ts'
import type { SessionPaths } from '../paths.ts'
import { undoTake, SessionLock, type TakenLock } from '../session-lock.ts'
import { plainPayloads } from '../snapshots.ts'
import { diagnose, type Diagnosis } from './diagnose.ts'
import { planRepair, type RepairPlan } from './repair-plan.ts'
import { restoringBodies } from './restoration.ts'
import { rewriteLog } from './rewrite-log.ts'
import type { Salvage } from './salvage.ts'

export interface RepairOptions {
  disk: Disk
  clock: Clock
  /** The directory of all sessions. */
  sessions: string
  id: string
}

export interface Repaired extends RepairPlan {
  /** Where the files lie as they were. */
  kept: string
}

/** What a repair would do. Nothing is locked, and nothing is changed. */
export function previewRepair({ disk, sessions, id }: RepairOptions): RepairPlan {
  const paths = locateSession(sessions, id)
  return withFileErrors(`examine session ${id}`, paths.root, () =>
    planRepair(id, diagnose(disk, paths, id, SessionLock.look(paths.root)?.ends)),
  )
}

/**
 * Makes a damaged session one that can be resumed: everything before the damage, and what is intact after it. What is lost is marked as lost, in its place. Nothing is deleted: the
 * files as they were are in quarantine, and a revision and a line of the audit log tell of it.
 */
export async function repairSession(options: RepairOptions): Promise<Repaired | RepairPlan> {
  const { disk, sessions, id } = options
  const paths = locateSession(sessions, id)
  const taken = takeSession(disk, paths, readManifestFile(disk, paths), {
    id,
    kind: 'writer',
    purpose: 'repair',
  })
  try {
    const diagnosis = diagnose(disk, paths, id, taken.before?.ends)
    const plan = planRepair(id, diagnosis)
    if (!plan.needed) {
      taken.lock.giveBack(taken.before)
      return plan
    }
    const kept = join(paths.quarantine, `repair-${ulid()}`)
    keep(disk, paths, kept, diagnosis)
    writeLogs(options, paths, diagnosis, taken, { plan, kept })
    await openAndRecord(options, paths, diagnosis, taken, { plan, kept })
    return { ...plan, kept }
  } catch (error) {
    undoTake(taken)
    throw error
  }
}

interface Doing {
  plan: RepairPlan
  kept: string
}

/** A second name for each file that goes or is replaced, before anything is changed. */
function keep(disk: Disk, paths: SessionPaths, kept: string, { rewrite }: Diagnosis): void {
  if (makeIfMissing(disk, paths.quarantine)) disk.syncDirectory(paths.root)
  disk.makeDirectory(kept)
  for (const [directory, salvage] of [
    [paths.root, rewrite.journal],
    [paths.audit, rewrite.audit],
  ] as const)
    for (const name of salvage?.replaced ?? []) linkOrCopy(disk, join(directory, name), join(kept, name))
  linkOrCopy(disk, paths.manifest, join(kept, 'manifest.json'))
  disk.syncDirectory(kept)
  disk.syncDirectory(paths.quarantine)
}

function writeLogs(
  { disk, clock }: RepairOptions,
  paths: SessionPaths,
  { journal, audit, rewrite, restoration }: Diagnosis,
  { lock }: TakenLock,
  { plan, kept }: Doing,
): void {
  const logs = logsOf(disk, paths)
  const { epoch } = lock
  const now = clock.now()
  if (rewrite.journal !== undefined) {
    const more = restoringBodies(restoration, new Blobs(disk, paths.blobs))
    rewriteLog(logs.journal, { salvage: rewrite.journal, tail: journal.end.tail, more, epoch, now })
    clearReplaced(logs.journal, rewrite.journal)
  }
  if (makeIfMissing(disk, paths.audit)) disk.syncDirectory(paths.root)
  cutTornTail(logs.audit, audit, paths.quarantine)
  // Even where only the journal is damaged: its line must be there before the session can be opened.
  const salvage = rewrite.audit ?? nothingLost(audit.end.seq)
  rewriteLog(logs.audit, { salvage, tail: audit.end.tail, more: [noteOf(plan, kept)], epoch, now })
  clearReplaced(logs.audit, salvage)
}

const nothingLost = (last: number): Salvage => ({
  from: last + 1,
  bad: last + 1,
  pieces: [],
  lost: [],
  last,
  replaced: [],
})

function noteOf({ findings, journal, audit, restored }: RepairPlan, kept: string): string {
  const detail = { findings, journal, audit, restored, kept }
  return encodeBody('note', JSON.stringify({ action: 'stint.repair', detail }))
}

/** By its name the new segment counts in their place: they may go at any time, or stay if we are killed here. */
function clearReplaced({ disk, directory }: LogFiles, { replaced }: Salvage): void {
  for (const name of replaced) ifExists(() => disk.unlink(join(directory, name)))
  disk.syncDirectory(directory)
}

async function openAndRecord(
  { disk, clock }: RepairOptions,
  paths: SessionPaths,
  { manifest, manifestProblem }: Diagnosis,
  taken: TakenLock,
  { plan, kept }: Doing,
): Promise<void> {
  const hold = { kind: 'writer', purpose: 'repair' } as const
  const held = openTakenSession(
    { disk, clock, paths, manifest, hold, guard: noGuard, repairing: true },
    taken,
  )
  const { journal, audit, restored } = plan
  // A writer recovers the session, whatever its last holder left.
  const { state } = held.recovered as Recovery
  await held.snapshot(state, plainPayloads(state))
  await held.revise({
    kind: 'repair',
    ...(manifestProblem === undefined ? {} : { manifest: manifestProblem }),
    journal,
    audit_log: audit,
    restored,
    kept,
    ...attestEnds(held.ends()),
    turns: state.turns,
  })
  // Before it is given back: whoever looks at it then finds it in order.
  ifExists(() => disk.unlink(paths.damaged))
  await held.release()
}
