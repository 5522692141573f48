import { join } from 'node:path'
import { notRetryable } from '../../../base/errors/stint-error.ts'
import { makeIfMissing } from '../../../base/fs/disk.ts'
import type { DiskSteps } from '../../../base/fs/disk-steps.ts'
import { ifExists } from '../../../base/fs/exists.ts'
import { runInTurns } from '../../../base/process/run-generator.ts'
import { ulid } from '../../../base/text/id.ts'
import type { Recovery } from '../../driver.ts'
import { encodeBody } from '../../log/codec.ts'
import { cutTornTail } from '../../log/cut-torn-tail.ts'
import { attestEnds } from '../../log/log-end.ts'
import type { LogFiles } from '../../log/log-files.ts'
import { noGuard } from '../../session-secrets.ts'
import { linkOrCopy } from '../fork.ts'
import { defaultLimits, type OpenContext } from '../held-session.ts'
import { openAcquiredSession, acquireSession } from '../open-session.ts'
import type { SessionDirectory, SessionsHome } from '../session-directory.ts'
import { sessionFileError, withFileErrors } from '../session-file-errors.ts'
import { observeLock, type AcquiredLock, undoAcquire } from '../session-lock.ts'
import { plainPayloads } from '../snapshots.ts'
import { diagnose, type Diagnosis, restoringBodies } from './diagnose.ts'
import { planRepair, type RepairPlan } from './repair-plan.ts'
import { rewriteLog } from './rewrite-log.ts'
import type { Salvage } from './salvage.ts'

export interface Repaired extends RepairPlan {
  /** The directory with the files as they were. */
  kept: string
}

const hold = { kind: 'writer', purpose: 'repair' } as const

/** Says what a repair would do. Takes no lock and changes nothing. */
export async function previewRepair(home: SessionsHome, id: string): Promise<RepairPlan> {
  const directory = home.locate(id)
  const { root } = directory.paths
  return await withFileErrors(`examine session ${id}`, root, async () =>
    planRepair(id, await runInTurns(diagnose(directory, id, observeLock(root).record?.ends))),
  )
}

/**
 * Makes a damaged session resumable: keeps all records before the damage and the intact ones after it, and
 * puts a record that says so in the place of each lost one. Deletes nothing: the old files go to quarantine,
 * and a revision of the manifest and a line of the audit log record the repair.
 */
export async function repairSession(home: SessionsHome, id: string): Promise<Repaired | RepairPlan> {
  const { clock } = home
  const directory = home.locate(id)
  const { root } = directory.paths
  const doing = `repair session ${id}`
  const acquired = withFileErrors(doing, root, () =>
    acquireSession(directory, id, directory.readManifest(), hold),
  )
  let isChanged = false
  try {
    const diagnosis = await runInTurns(diagnose(directory, id, acquired.before?.ends))
    const plan = planRepair(id, diagnosis)
    if (!plan.needed) {
      acquired.lock.restore(acquired.before)
      return plan
    }
    const repaired = { ...plan, kept: join(directory.paths.quarantine, `repair-${ulid()}`) }
    const queue = home.newQueue()
    await queue.run(keepFiles(directory, diagnosis, repaired))
    isChanged = true
    await queue.run(writeLogs(directory, diagnosis, repaired, acquired.lock.holdEpoch, clock.now()))
    const context = {
      directory,
      queue,
      manifest: diagnosis.manifest,
      hold,
      guard: noGuard,
      clock,
      limits: defaultLimits,
    }
    await recordRepair(context, diagnosis, repaired, acquired)
    return repaired
  } catch (error) {
    undoAcquire(acquired)
    const coded = sessionFileError(error, doing, root)
    throw isChanged ? notRetryable(coded) : coded
  }
}

/** Gives each file that will be removed or replaced a second name in quarantine, before any change. */
function* keepFiles(
  { disk, paths }: SessionDirectory,
  { rewrite }: Diagnosis,
  { kept }: Repaired,
): DiskSteps {
  if (makeIfMissing(disk, paths.quarantine)) yield { call: 'syncDirectory', path: paths.root }
  disk.makeDirectory(kept)
  for (const [directory, salvage] of [
    [paths.root, rewrite.journal],
    [paths.audit, rewrite.audit],
  ] as const)
    for (const name of salvage?.replaced ?? [])
      yield* linkOrCopy(disk, join(directory, name), join(kept, name))
  yield* linkOrCopy(disk, paths.manifest, join(kept, 'manifest.json'))
  yield { call: 'syncDirectory', path: kept }
  yield { call: 'syncDirectory', path: paths.quarantine }
}

function* writeLogs(
  { disk, paths, logs, blobs }: SessionDirectory,
  { journal, audit, rewrite, restoration }: Diagnosis,
  repaired: Repaired,
  epoch: number,
  now: number,
): DiskSteps {
  if (rewrite.journal !== undefined) {
    const more = yield* restoringBodies(restoration, blobs)
    yield* rewriteLog(logs.journal, { salvage: rewrite.journal, sum: journal.end.sum, more, epoch, now })
    yield* removeReplaced(logs.journal, rewrite.journal)
  }
  if (makeIfMissing(disk, paths.audit)) yield { call: 'syncDirectory', path: paths.root }
  yield* cutTornTail(logs.audit, audit, paths.quarantine)
  // Even if only the journal is damaged: the audit log must record the repair before the session is opened.
  const salvage = rewrite.audit ?? nothingLost(audit.end.seq)
  yield* rewriteLog(logs.audit, { salvage, sum: audit.end.sum, more: [auditNote(repaired)], epoch, now })
  yield* removeReplaced(logs.audit, salvage)
}

const nothingLost = (last: number): Salvage => ({
  from: last + 1,
  bad: last + 1,
  lines: [],
  lost: [],
  last,
  replaced: [],
})

function auditNote({ findings, journal, audit, restored, kept }: Repaired): string {
  const detail = { findings, journal, audit, restored, kept }
  return encodeBody('note', JSON.stringify({ action: 'stint.repair', detail }))
}

/** Removes the old segments. A crash may leave some: the new one overrules them by its name. */
function* removeReplaced({ disk, directory }: LogFiles, { replaced }: Salvage): DiskSteps {
  for (const name of replaced) ifExists(() => disk.unlink(join(directory, name)))
  yield { call: 'syncDirectory', path: directory }
}

async function recordRepair(
  context: OpenContext,
  { manifestProblem }: Diagnosis,
  { journal, audit, restored, kept }: Repaired,
  acquired: AcquiredLock,
): Promise<void> {
  const { directory, queue } = context
  const held = await queue.run(openAcquiredSession(context, acquired, true))
  // Opening for a writer always recovers the session.
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
  // Before the release, so that the next process finds no note of damage.
  ifExists(() => directory.disk.unlink(directory.paths.damaged))
  await held.release()
}
