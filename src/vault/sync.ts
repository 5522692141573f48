import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { nodeDisk } from '../base/fs/disk.ts'
import { ifExists } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { readRecord, vaultDirectory } from './conversation-record.ts'
import {
  type Copied,
  copyConversation,
  type CopyOptions,
  isAsRecorded,
  nothingCopied,
} from './copy-conversation.ts'
import { isExcluded, isInExcludedDirectory, readExclusions } from './exclusions.ts'
import { findConversations, type Source } from './find-conversations.ts'
import { noteLook } from './last-look.ts'
import { copyExport, isExported, listOpenCode } from './opencode.ts'
import { agentRoot, type VaultAgent, vaultAgents } from './places.ts'
import { headBytes, readHead } from './read-conversation.ts'
import { summaryOf } from './transcript.ts'

/** How many conversations are copied at once: while one waits for the disk, another is read. */
const parallel = 8
/** Copying stops when less than this part of the disk is free. */
const leastFree = 0.05

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
}

export interface SyncOptions extends Pick<CopyOptions, 'hasEnded' | 'givesWay'> {
  agents?: readonly VaultAgent[]
  /** Only this conversation. */
  id?: string
  onProgress?: (done: number, total: number, bytes: number) => void
  signal?: AbortSignal
}

/** A conversation at its agent. */
interface Candidate {
  id: string
  isExcluded: () => boolean
  /** Does the vault have all of it? */
  isKept: (directory: string) => boolean
  copy: (directory: string, options: CopyOptions) => Promise<Copied>
}

/** Copies what is new of all conversations into the vault. */
export async function syncVault(vault: string, options: SyncOptions = {}): Promise<SyncReport> {
  const { agents = vaultAgents, id, hasEnded, givesWay, onProgress, signal } = options
  const report: SyncReport = { ...nothingCopied(), conversations: 0, copied: 0, excluded: 0 }
  const exclusions = readExclusions(vault)
  const jobs: (() => Promise<Copied>)[] = []
  const looks: (() => void)[] = []
  for (const agent of agents.filter((each) => !exclusions.includes(each))) {
    const startedAt = Date.now()
    const candidates = await candidatesOf(agent, exclusions, report)
    if (candidates === undefined) continue
    for (const each of candidates.filter((candidate) => (id ?? candidate.id) === candidate.id)) {
      const directory = join(vault, agent, each.id)
      const isRemoved = (): boolean => isExcluded(readExclusions(vault), { agent, id: each.id })
      report.conversations += 1
      if (each.isExcluded()) report.excluded += 1
      else if (!each.isKept(directory))
        jobs.push(() => each.copy(directory, { hasEnded, givesWay, isWanted: () => !isRemoved() }))
    }
    const ids = new Set(candidates.map((each) => each.id))
    if (id === undefined) looks.push(() => noteLook(vault, agent, ids, startedAt))
  }
  try {
    await inParallel(jobs, async (job, index) => {
      signal?.throwIfAborted()
      assertRoom(vault)
      add(report, await job())
      onProgress?.(index + 1, jobs.length, report.bytes)
    })
  } finally {
    // The names of new conversations, at once: a first sync has a thousand of them.
    if (report.files > 0)
      for (const agent of agents) ifExists(() => nodeDisk.syncDirectory(join(vault, agent)))
  }
  for (const note of looks) note()
  return report
}

/** The conversations that an agent has; undefined if that cannot be told. */
async function candidatesOf(
  agent: VaultAgent,
  exclusions: readonly string[],
  { unread }: SyncReport,
): Promise<Candidate[] | undefined> {
  if (agent === 'opencode') {
    try {
      const sessions = await listOpenCode()
      return sessions?.map((session) => ({
        id: session.id,
        isExcluded: () => isExcluded(exclusions, { agent, id: session.id }),
        isKept: (directory) => isExported(directory, session),
        copy: (directory, options) => copyExport(directory, session, options),
      }))
    } catch (error) {
      unread.push({ path: 'opencode db', error: errorCode(error) ?? errorMessage(error) })
      return undefined
    }
  }
  const findings = findConversations(agent, agentRoot(agent))
  unread.push(...findings.unread)
  return findings.sources.map((source) => ({
    id: source.id,
    isExcluded: () => isLeftOut(source, exclusions),
    isKept: (directory) => isAsRecorded(readRecord(directory), source),
    copy: (directory, options) => copyConversation(directory, source, options),
  }))
}

/** Is this conversation excluded, or was it held in a directory that is? Looks into it only if some are. */
function isLeftOut(source: Source, exclusions: readonly string[]): boolean {
  const [main] = source.files
  if (isExcluded(exclusions, source)) return true
  if (main === undefined || !exclusions.some((each) => each.startsWith('/'))) return false
  const head = ifPossible(() => readHead(main.path, headBytes)) ?? ''
  return isInExcludedDirectory(exclusions, summaryOf(source.agent, head).workspace)
}

/** The part of the disk that is free, in percent. */
export function freePercent(vault: string): number {
  const { bavail, blocks } = statfsSync(vault)
  return (100 * bavail) / Math.max(1, blocks)
}

function assertRoom(vault: string): void {
  const percent = freePercent(vault)
  if (percent >= 100 * leastFree) return
  throw new StintError('DISK_FULL', 'less than 5 % of the disk is free: the vault copies nothing more', {
    detail: `path=${vault} free=${Math.floor(percent)}%`,
    hint: 'Free some space, or remove conversations: stint vault rm --older-than 90d',
  })
}

function add(report: SyncReport, { files, bytes, rewritten, unread }: Copied): void {
  if (files > 0) report.copied += 1
  report.files += files
  report.bytes += bytes
  report.rewritten += rewritten
  report.unread.push(...unread)
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
