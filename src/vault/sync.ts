import { lstatSync, statfsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { unless } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { appendPrivateFile, createPrivateFile } from '../base/fs/private-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { ulid } from '../base/text/id.ts'
import { readRecord, recordName, vaultDirectory } from './conversation-record.ts'
import {
  type Copied,
  copyConversation,
  type CopyOptions,
  isAsRecorded,
  nothingCopied,
  type Source,
} from './copy-conversation.ts'
import { isExcluded, isInExcludedDirectory, readExclusions } from './exclusions.ts'
import { exportOpenCode, listOpenCode, type OpenCodeSession } from './opencode.ts'
import { findConversations, agentRoot, type Skipped, type VaultAgent, vaultAgents } from './places.ts'
import { summaryOf } from './transcript.ts'
import { readHead } from './read-conversation.ts'

/** How many conversations are copied at once: while one waits for the disk, another is read. */
const parallel = 8
/** Copying stops when less than this part of the disk is free. */
const leastFree = 0.05
/** How much of a transcript is read for its title and workspace. */
export const headBytes = 64 << 10

/** Opens the vault in the home, and makes it if it is missing. */
export function openVault(): string {
  const home = stintHome()
  const vault = vaultDirectory(home)
  ensureHome(home)
  ensureHomeDirectory(vault)
  return vault
}

export interface SyncReport extends Copied {
  /** Conversations that the agents have, and those of which something was stored. */
  conversations: number
  copied: number
  excluded: number
  skipped: Skipped[]
}

export interface SyncOptions extends Pick<CopyOptions, 'hasEnded' | 'givesWay'> {
  agents?: readonly VaultAgent[]
  /** Only this conversation. */
  id?: string
  onProgress?: (done: number, total: number, bytes: number) => void
  signal?: AbortSignal
}

/** Copies what is new of all conversations into the vault. */
export async function syncVault(vault: string, options: SyncOptions = {}): Promise<SyncReport> {
  const { agents = vaultAgents, id, onProgress, signal } = options
  const exclusions = readExclusions(vault)
  const report = { ...nothingCopied(), conversations: 0, copied: 0, excluded: 0, skipped: [] as Skipped[] }
  const startedAt = new Date()
  const jobs: (() => Promise<Copied>)[] = []
  for (const agent of agents.filter((each) => !exclusions.includes(each))) {
    const { sources, skipped } =
      agent === 'opencode' ? await findExports(vault) : findConversations(agent, agentRoot(agent))
    report.skipped.push(...skipped)
    for (const source of sources.filter((each) => id === undefined || each.id === id)) {
      report.conversations += 1
      if (isLeftOut(source, exclusions)) report.excluded += 1
      else if (!isSeenUnchanged(vault, source, startedAt)) jobs.push(() => copySource(vault, source, options))
    }
  }
  await inParallel(jobs, async (job, index) => {
    signal?.throwIfAborted()
    add(report, await job())
    onProgress?.(index + 1, jobs.length, report.bytes)
  })
  if (agents === vaultAgents && id === undefined) markSync(vault, startedAt)
  return report
}

/** Is nothing new? The time of the record is when the conversation was last seen at its agent. */
function isSeenUnchanged(vault: string, source: Source, now: Date): boolean {
  const directory = join(vault, source.agent, source.id)
  const record = readRecord(directory)
  if (record.end > 0) utimesSync(join(directory, recordName), now, now)
  const exported = record.files.get(exportName)?.last
  return source.updated === undefined ? isAsRecorded(record, source) : exported?.mtime === source.updated
}

/** Is this conversation excluded, or was it held in a directory that is? Looks into it only if some are. */
function isLeftOut(source: Source, exclusions: readonly string[]): boolean {
  const [main] = source.files
  if (isExcluded(exclusions, source)) return true
  if (main === undefined || !exclusions.some((each) => each.startsWith('/'))) return false
  const head = ifPossible(() => readHead(main.path, headBytes)) ?? ''
  return isInExcludedDirectory(exclusions, summaryOf(source.agent, head).workspace)
}

/** Copies one conversation; throws `DISK_FULL` if the disk has too little room to go on. */
export async function copySource(
  vault: string,
  source: Source,
  { hasEnded, givesWay }: CopyOptions = {},
): Promise<Copied> {
  assertRoom(vault)
  if (source.updated !== undefined) return await copyExport(vault, source.id, source.updated)
  const { agent, id } = source
  try {
    const isWanted = (): boolean => !isExcluded(readExclusions(vault), source)
    return await copyConversation(join(vault, agent, id), source, { hasEnded, givesWay, isWanted })
  } catch (error) {
    throw codedError(error, `copy the conversation ${id} into the vault`)
  }
}

function assertRoom(vault: string): void {
  const { bavail, blocks } = statfsSync(vault)
  if (bavail >= leastFree * blocks) return
  throw new StintError('DISK_FULL', 'less than 5 % of the disk is free: the vault copies nothing more', {
    detail: `path=${vault} free=${Math.floor((100 * bavail) / Math.max(1, blocks))}%`,
    hint: 'Free some space, or remove conversations: stint vault rm --older-than 90d',
  })
}

function add(report: SyncReport, { files, bytes, rewritten, unreadable }: Copied): void {
  if (files > 0) report.copied += 1
  report.files += files
  report.bytes += bytes
  report.rewritten += rewritten
  report.unreadable.push(...unreadable)
}

async function inParallel<Job>(
  jobs: readonly Job[],
  work: (job: Job, index: number) => Promise<void>,
): Promise<void> {
  const queue = jobs.entries()
  const worker = async (): Promise<void> => {
    for (const [index, job] of queue) await work(job, index)
  }
  const ends = await Promise.allSettled(Array.from({ length: parallel }, worker))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

const markPath = (vault: string): string => join(vault, 'last-sync')

/** The time of an empty file is when the last complete sync began. */
function markSync(vault: string, startedAt: Date): void {
  appendPrivateFile(markPath(vault), '')
  utimesSync(markPath(vault), startedAt, startedAt)
}

export const lastSyncAt = (vault: string): number | null =>
  unless(['ENOENT'], () => Math.round(lstatSync(markPath(vault)).mtimeMs)) ?? null

const exportName = 'export.json'

/** The conversations of OpenCode. A list that fails is reported: the others are copied all the same. */
async function findExports(vault: string): Promise<{ sources: Source[]; skipped: Skipped[] }> {
  try {
    const sessions = await listOpenCode()
    const sourceOf = ({ id, updated }: OpenCodeSession) => ({
      agent: 'opencode',
      id,
      updated,
      root: vault,
      files: [],
    })
    return { sources: sessions.map(sourceOf), skipped: [] }
  } catch (error) {
    const skipped = [{ path: 'opencode session list', error: errorCode(error) ?? errorMessage(error) }]
    return { sources: [], skipped }
  }
}

/** Stores an export by way of a file with the time of the session, which shows later that it is unchanged. */
async function copyExport(vault: string, id: string, updated: number): Promise<Copied> {
  const directory = join(vault, `.export-${ulid()}`)
  const path = join(directory, exportName)
  ensureHomeDirectory(directory)
  try {
    createPrivateFile(path, await exportOpenCode(id))
    utimesSync(path, updated / 1000, updated / 1000)
    return await copySource(vault, {
      agent: 'opencode',
      id,
      root: vault,
      files: [{ name: exportName, path }],
    })
  } catch (error) {
    if (error instanceof StintError) throw error
    const unreadable = [{ path: `opencode export ${id}`, error: errorCode(error) ?? errorMessage(error) }]
    return { ...nothingCopied(), unreadable }
  } finally {
    removeTree(directory)
  }
}
