import { execFile } from 'node:child_process'
import { existsSync, statfsSync, unlinkSync, utimesSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { nodeDisk } from '../base/fs/disk.ts'
import { ifExists } from '../base/fs/exists.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../base/fs/home.ts'
import { makePrivateDirectories } from '../base/fs/private-file.ts'
import { isCount, isRecord } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import { readRecord, vaultDirectory } from './conversation-record.ts'
import { type Copied, copyConversation, type CopyOptions, isAsRecorded } from './copy-conversation.ts'
import { isExcluded, readExclusions } from './exclusions.ts'
import { findConversations, type Source, type Unread } from './find-conversations.ts'
import { noteLook } from './list-conversations.ts'
import { type VaultAgent, vaultAgents } from './places.ts'
import { readHead } from './read-conversation.ts'
import { summaryOf } from './transcript.ts'

/** How many conversations are copied at once: while one waits for the disk, another is read. */
const parallel = 8
/** Copying stops when less than this part of the disk is free, in percent. */
const leastFreePercent = 5

/** Opens the vault in the home, and makes it if it is missing. */
export function openVault(): string {
  ensureHome(stintHome())
  ensureHomeDirectory(vaultDirectory())
  return vaultDirectory()
}

/**
 * Copies what is new of all conversations into the vault. Returns how many the agents have, how many are
 * excluded, and of how many something was copied.
 */
export async function syncVault(
  vault: string,
  options: {
    agents?: readonly VaultAgent[]
    /** Only this conversation. */
    id?: string
    hasEnded?: boolean
    onProgress?: (done: number, total: number, bytes: number) => void
    signal?: AbortSignal
  } = {},
) {
  const { agents = vaultAgents, id, hasEnded, onProgress, signal } = options
  const report = { conversations: 0, copied: 0, bytes: 0, excluded: 0, unread: [] as Unread[] }
  const exclusions = readExclusions(vault)
  const changed: Source[] = []
  const looks: (() => void)[] = []
  for (const agent of agents.filter((each) => !exclusions.includes(each))) {
    const startedAt = Date.now()
    const { sources, unread } = agent === 'opencode' ? await listOpenCode(vault) : findConversations(agent)
    report.unread.push(...unread)
    const chosen = sources?.filter((source) => id === undefined || source.id === id) ?? []
    report.conversations += chosen.length
    for (const source of chosen)
      if (isExcluded(exclusions, source, () => workspaceOf(source))) report.excluded += 1
      else if (!isKept(vault, source)) changed.push(source)
    const ids = sources?.map((source) => source.id)
    if (ids !== undefined && id === undefined) looks.push(() => noteLook(vault, agent, startedAt, ids))
  }
  try {
    await inParallel(changed, async (source, index) => {
      signal?.throwIfAborted()
      assertRoom(vault)
      // The workspace of OpenCode is known only now, from the export.
      const isWanted = (): boolean => !isExcluded(readExclusions(vault), source, () => workspaceOf(source))
      const copy = source.updated === undefined ? copyConversation : copyExport
      const { bytes, unread } = await copy(directoryOf(vault, source), source, { hasEnded, isWanted })
      if (bytes > 0) report.copied += 1
      report.bytes += bytes
      report.unread.push(...unread)
      onProgress?.(index + 1, changed.length, report.bytes)
    })
  } finally {
    // The names of new conversations, at once: a first sync has a thousand of them.
    if (report.bytes > 0)
      for (const agent of agents) ifExists(() => nodeDisk.syncDirectory(join(vault, agent)))
  }
  for (const note of looks) note()
  return report
}

const directoryOf = (vault: string, { agent, id }: Source): string => join(vault, agent, id)

/** Does the vault have all of this conversation? */
function isKept(vault: string, source: Source): boolean {
  const record = readRecord(directoryOf(vault, source))
  if (source.updated === undefined) return isAsRecorded(record, source)
  return record.transcript?.mtime === source.updated
}

const workspaceOf = ({ agent, files }: Source): string | undefined =>
  summaryOf(agent, readHead(files[0]?.path ?? '')).workspace

/** The part of the disk that is free, in percent. */
export function freePercent(vault: string): number {
  const { bavail, blocks } = statfsSync(vault)
  return (100 * bavail) / Math.max(1, blocks)
}

function assertRoom(vault: string): void {
  const percent = freePercent(vault)
  if (percent >= leastFreePercent) return
  throw new StintError('DISK_FULL', 'less than 5 % of the disk is free: the vault copies nothing more', {
    detail: `path=${vault} free=${Math.floor(percent)}%`,
    hint: 'Free some space, or remove conversations: stint vault rm --older-than 90d',
  })
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

/**
 * OpenCode's own commands read its database: a copy of the main file would lack what is still in the log
 * beside it. They run in `/`, where there is no project whose plugins they would load.
 */
const opencode = async (...args: string[]): Promise<Buffer> => {
  const limits = { timeout: 60_000, maxBuffer: 1 << 30, encoding: 'buffer', cwd: '/' } as const
  return (await promisify(execFile)('opencode', args, limits)).stdout
}

/** The sessions of all projects; `session list` has only those of one, and the newest of them. */
const listing = ['db', 'SELECT id, time_updated AS updated FROM session', '--format', 'json']

/** The sessions of OpenCode, each as the export that is made of it; undefined if they cannot be listed. */
async function listOpenCode(vault: string): Promise<{ sources?: Source[]; unread: Unread[] }> {
  const directories = (process.env.PATH ?? '').split(delimiter)
  // An attempt to start it would take as long as the look at all other agents.
  if (!directories.some((directory) => existsSync(join(directory, 'opencode')))) return { unread: [] }
  try {
    const rows: unknown = JSON.parse(String(await opencode(...listing)))
    const sessions = (Array.isArray(rows) ? rows.filter(isRecord) : []) as { id: string; updated: number }[]
    const sources = sessions
      .filter(({ id, updated }) => isSessionId(id) && isCount(updated))
      .map(({ id, updated }): Source => {
        const root = join(vault, 'opencode', id)
        const files = [{ name: 'export.json', path: join(root, 'export.json') }]
        return { agent: 'opencode', id, root, files, updated }
      })
    return { sources, unread: [] }
  } catch (error) {
    return { unread: [{ path: 'opencode db', error: errorCode(error) ?? errorMessage(error) }] }
  }
}

/** Stores an export by way of a file with the time of the session, which shows later that it is unchanged. */
async function copyExport(directory: string, source: Source, options: CopyOptions): Promise<Copied> {
  const { id, files, updated = 0 } = source
  const path = files[0]?.path ?? ''
  try {
    const bytes = await opencode('export', id)
    makePrivateDirectories(directory)
    replaceFile(path, bytes)
    utimesSync(path, updated / 1000, updated / 1000)
    return await copyConversation(directory, source, options)
  } catch (error) {
    if (error instanceof StintError) throw error
    const unread = [{ path: `opencode export ${id}`, error: errorCode(error) ?? errorMessage(error) }]
    return { bytes: 0, unread }
  } finally {
    ifExists(() => unlinkSync(path))
  }
}
