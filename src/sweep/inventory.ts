import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { codedError } from '../base/errors/stint-error.ts'
import { exists } from '../base/fs/exists.ts'
import { measureSteps, SpaceCounter, type TreeSize } from '../base/fs/measure-tree.ts'
import { isWithin } from '../base/fs/paths.ts'
import { ownDirectoryProblem } from '../base/fs/private-file.ts'
import { systemClock } from '../base/process/clock.ts'
import { giveWay, runInTurns } from '../base/process/event-loop.ts'
import { type Liveness, liveness } from '../base/process/liveness.ts'
import { visibleText } from '../base/text/escape.ts'
import { isRequestId, isSessionId, requestIdIn } from '../base/text/id.ts'
import { type Owner, readOwner } from '../scratch/owner.ts'
import { findRoot, type ScratchRoot } from '../scratch/root.ts'
import { listTracked } from '../scratch/tracked-record.ts'
import { type JudgedEntry, judgeEntry, markSuperseded } from './judge-entry.ts'
import { directoriesIn, listSwept, type SweptDirectory, type SweptListing } from './swept-directories.ts'
import type { EntryFacts, KeepReason, RemoveReason } from './verdict.ts'

/** One entry of the root: what it is, which run it belongs to, and what a sweep would do with it. */
export interface TempEntry {
  path: string
  kind: EntryFacts['kind']
  /** Milliseconds since the epoch. */
  created_at: number
  age_ms: number
  request_id: string | null
  session_id: string | null
  /** The run in which this run was started. */
  parent_request_id: string | null
  /** Name of the program. */
  command: string | null
  pid: number | null
  /** The liveness of the owner; null if no owner is known. */
  liveness: Liveness | null
  /** Whether a sweep would remove it now. */
  orphan: boolean
  reason: RemoveReason | KeepReason
  /** Paths elsewhere that are removed with their run. */
  tracks: TrackedLine[]
}

/** A line of `tracked/<requestId>`: a path elsewhere that is removed with its run. */
export interface TrackedLine {
  path: string
  /** The context that tracks it, as `outer > inner`. */
  context: string | null
  /**
   * Whether a sweep would remove it: the path still is what the run put there. False if nothing was there
   * when the path was tracked, or if it contains a protected directory.
   */
  sweepable: boolean
}

export interface MeasuredEntry extends TempEntry, TreeSize {
  /** Set if the time limit ended the count, so the sizes are lower bounds. */
  partial?: true
}

const comparisons = {
  size: (a: MeasuredEntry, b: MeasuredEntry) => b.disk_bytes - a.disk_bytes || b.bytes - a.bytes,
  age: (a: MeasuredEntry, b: MeasuredEntry) => a.created_at - b.created_at,
  name: () => 0,
}

type EntryOrder = keyof typeof comparisons

/** Sorts the largest or the oldest first; equal entries by name. */
export const sortEntries = (entries: readonly MeasuredEntry[], order: EntryOrder): MeasuredEntry[] =>
  [...entries].sort((a, b) => comparisons[order](a, b) || (a.path < b.path ? -1 : 1))

/** Entries in numbers. */
export interface EntryTotals extends TreeSize {
  entries: number
  scratches: number
  /** Scratches whose owner is alive. */
  live: number
  /** Entries that a sweep would remove. */
  orphans: number
}

export function sumEntries(entries: readonly MeasuredEntry[]): EntryTotals {
  const scratches = entries.filter(({ kind }) => kind === 'scratch')
  const sum = (field: keyof TreeSize): number => entries.reduce((total, entry) => total + entry[field], 0)
  return {
    entries: entries.length,
    scratches: scratches.length,
    live: scratches.filter(({ liveness }) => liveness === 'alive').length,
    orphans: entries.filter(({ orphan }) => orphan).length,
    files: sum('files'),
    directories: sum('directories'),
    bytes: sum('bytes'),
    disk_bytes: sum('disk_bytes'),
  }
}

/** Lists every entry of the root with the verdict of a sweep, and changes nothing. */
export async function listEntries(root: ScratchRoot, now: number): Promise<TempEntry[]> {
  const listings = directoriesIn('all', { root, dryRun: true }).map((directory) =>
    listWithoutFollowing(directory, root),
  )
  const entriesSeen: JudgedEntry[] = []
  for (const { directory, names } of listings.filter(({ directory }) => directory.kind !== 'tracked')) {
    for (const name of names) {
      await giveWay()
      const judged = await judgeEntry(directory, name, now)
      if (judged !== undefined) entriesSeen.push(judged)
    }
  }
  const judged = markSuperseded(entriesSeen)
  const entries = judged.map((entry) => describe(root, entry, now))
  // A record of tracked paths shares the fate of its run's scratch; without one, it is judged itself.
  const scratches = new Map(judged.filter(isScratch).map((entry) => [basename(entry.path), entry]))
  for (const { directory, names } of listings.filter(({ directory }) => directory.kind === 'tracked')) {
    for (const name of names) {
      await giveWay()
      const fate = scratches.get(name) ?? (await judgeEntry(directory, name, now))
      if (exists(join(root.tracked, name))) entries.push(describeTracked(root, name, fate, now))
    }
  }
  return entries
}

const isScratch = ({ facts }: JudgedEntry): boolean => facts.kind === 'scratch' || facts.kind === 'trash'

/** Lists a directory. If a link has replaced it, lists the link itself instead of its target. */
function listWithoutFollowing(directory: SweptDirectory, root: ScratchRoot): SweptListing {
  const stat = lstatSync(directory.path, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) === undefined) return listSwept(directory)
  return { directory: { kind: 'root', path: root.path, root }, names: [basename(directory.path)] }
}

function describe(root: ScratchRoot, { path, facts, verdict }: JudgedEntry, now: number): TempEntry {
  const { kind } = facts
  const requestId = kind === 'other' ? null : (requestIdIn(basename(path)) ?? null)
  const scratch = kind === 'output' && requestId !== null ? join(root.runs, requestId) : path
  const owner = kind === 'scratch' || kind === 'output' ? readOwner(scratch) : undefined
  return {
    path,
    kind,
    ...ageFields(path, owner, now),
    ...ownerFields(owner, requestId),
    ...(facts.owner && { liveness: facts.owner.liveness }),
    orphan: verdict.remove,
    reason: verdict.reason,
    tracks: [],
  }
}

function describeTracked(
  root: ScratchRoot,
  name: string,
  fate: JudgedEntry | undefined,
  now: number,
): TempEntry {
  const path = join(root.tracked, name)
  const isRun = isRequestId(name)
  const owner = fate !== undefined && isScratch(fate) ? readOwner(fate.path) : undefined
  return {
    path,
    kind: 'tracked',
    ...ageFields(path, owner, now),
    ...ownerFields(owner, isRun ? name : null),
    orphan: fate?.verdict.remove ?? false,
    reason: fate?.verdict.reason ?? (isRun ? 'ownerless' : 'not-stint'),
    tracks: readTrackedLines(root, name),
  }
}

/** The paths that a run tracks elsewhere; none if the record cannot be read. */
export const readTrackedLines = (root: ScratchRoot, requestId: string): TrackedLine[] =>
  listTracked(root, requestId).map(({ path, context, sweepable }) => ({
    path,
    context: context === undefined ? null : visibleText(context),
    sweepable,
  }))

function ageFields(
  path: string,
  owner: Owner | undefined,
  now: number,
): Pick<TempEntry, 'created_at' | 'age_ms'> {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const born = stat?.birthtimeMs || stat?.ctimeMs || now
  const recorded = owner?.created_at ?? 0
  const createdAt = Math.round(recorded > 0 && recorded <= now ? recorded : born)
  return { created_at: createdAt, age_ms: Math.max(0, now - createdAt) }
}

type OwnerFields = Pick<
  TempEntry,
  'request_id' | 'session_id' | 'parent_request_id' | 'command' | 'pid' | 'liveness'
>

/** The fields of an owner record. The program in the scratch can forge it, so invalid ids become null. */
function ownerFields(owner: Owner | undefined, requestId: string | null): OwnerFields {
  const idIf = (isValid: (text: string) => boolean, text: string | null | undefined): string | null =>
    typeof text === 'string' && isValid(text) ? text : null
  return {
    request_id: requestId,
    session_id: idIf(isSessionId, owner?.session_id),
    parent_request_id: idIf(isRequestId, owner?.parent_request_id),
    command: owner?.command == null ? null : visibleText(owner.command, 80),
    pid: owner?.identity.pid ?? null,
    liveness: owner === undefined ? null : liveness(owner.identity),
  }
}

/**
 * Lists and measures everything in this user's root, giving way to the event loop; empty if there is no root.
 * After `withinMs` milliseconds it stops counting, and the sizes are lower bounds (`partial`).
 */
export async function measureEntries(
  now: number = Date.now(),
  withinMs: number = Number.POSITIVE_INFINITY,
): Promise<MeasuredEntry[]> {
  const end = systemClock.mono() + withinMs
  const root = findRoot()
  if (root === undefined) return []
  const entries: MeasuredEntry[] = []
  const counter = new SpaceCounter()
  try {
    for (const entry of await listEntries(root, now))
      entries.push(await measureEntry(entry, () => systemClock.mono() > end, counter))
  } catch (error) {
    throw codedError(error, `look at ${root.path}`)
  }
  return entries
}

/** Adds what a sweep would free: for a record of tracked paths, the size of these paths. */
export async function measureEntry(
  entry: TempEntry,
  isLate = (): boolean => false,
  counter: SpaceCounter = new SpaceCounter(),
): Promise<MeasuredEntry> {
  const size: TreeSize = { files: 0, directories: 0, bytes: 0, disk_bytes: 0 }
  for (const path of entry.kind === 'tracked' ? sweepablePaths(entry.tracks) : [entry.path]) {
    if (isLate()) break
    const measured = await runInTurns(measureSteps(path, { enough: isLate, counter }))
    size.files += measured.files
    size.directories += measured.directories
    size.bytes += measured.bytes
    size.disk_bytes += measured.disk_bytes
  }
  return { ...entry, ...size, ...(isLate() && { partial: true }) }
}

/** The tracked paths that are in no other one, so that nothing is counted twice. */
function sweepablePaths(tracks: readonly TrackedLine[]): string[] {
  const paths = [...new Set(tracks.filter(({ sweepable }) => sweepable).map(({ path }) => path))]
  return paths.filter((path) => !paths.some((outer) => outer !== path && isWithin(path, outer)))
}

/** The owner of an entry, for people. */
export function renderOwner({
  command,
  pid,
  liveness,
}: Pick<TempEntry, 'command' | 'pid' | 'liveness'>): string {
  if (pid === null) return liveness === null ? '-' : liveness
  return `${command ?? '?'} (pid ${pid}, ${liveness ?? 'unknown'})`
}
