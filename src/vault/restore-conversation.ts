import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, readlinkSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { nodeDisk } from '../base/fs/disk.ts'
import { exists, listIfReadable, lstatIfExists, unless } from '../base/fs/exists.ts'
import { makePrivateDirectories, openPrivateFile, writeAll } from '../base/fs/private-file.ts'
import { openRegular, readSmallFile } from '../base/fs/regular-file.ts'
import { ancestorsOf, pidExists } from '../base/process/platform.ts'
import { readProcessTable } from '../base/process/process-table.ts'
import { ulid } from '../base/text/id.ts'
import {
  type ConversationRecord,
  readRecord,
  type StoredFile,
  transcriptOf,
  type Version,
} from './conversation-record.ts'
import { copyConversation, piecesOf } from './copy-conversation.ts'
import { findConversations } from './find-conversations.ts'
import { agentRoot, type FileAgent, placeNow, resumeCommand, type VaultAgent } from './places.ts'

export interface RestoreOptions {
  /** Writes the files below this directory, and not where the agent looks for them. */
  to?: string
  /** Replaces the copy that the agent has, which is kept as a generation first. */
  replace?: boolean
  /** As it was in this generation; by default the newest. */
  generation?: number
}

interface Restored {
  paths: string[]
  bytes: number
  /** The command that continues the conversation. */
  resume: string | null
}

interface Plan {
  file: StoredFile
  version: Version
  target: string
}

/** Puts the files of a conversation back, byte by byte, with the present time. */
export async function restoreConversation(
  vault: string,
  { agent, id }: { agent: VaultAgent; id: string },
  options: RestoreOptions = {},
): Promise<Restored> {
  const record = readRecord(join(vault, agent, id))
  const chosen = chooseVersions(record, options.generation)
  const { to } = options
  const targetOf =
    to === undefined ? await prepareAgent(vault, agent, id, options) : (name: string) => join(to, name)
  const plans = chosen.map((each) => ({ ...each, target: targetOf(each.file.name) }))
  for (const { target } of plans) {
    assertDirectory(dirname(target))
    if (!options.replace && exists(target)) throw taken(target, options)
  }
  // The transcript last: the agent finds the conversation by it, and then all of it must be there.
  for (const plan of plans.toReversed()) restoreFile(record, plan, options.replace ?? false)
  return {
    paths: plans.map(({ target }) => target),
    bytes: plans.reduce((sum, { version }) => sum + version.length, 0),
    resume: to === undefined ? resumeCommand({ agent, id }) : null,
  }
}

/** Checks that the agent can have the conversation back; keeps its copy. Returns where the files go. */
async function prepareAgent(
  vault: string,
  agent: VaultAgent,
  id: string,
  { replace }: RestoreOptions,
): Promise<(name: string) => string> {
  if (agent === 'opencode')
    throw new StintError('ARG_ERROR', 'OpenCode keeps its conversations in a database', {
      hint: 'Write the export to a directory (--to DIR), then run: opencode import DIR/export.json',
    })
  const root = agentRoot(agent)
  const present = findConversations(agent, root).sources.find((source) => source.id === id)
  const files = present?.files ?? []
  const pid = livingProcess(
    agent,
    id,
    files.map(({ path }) => path),
  )
  if (pid !== undefined)
    throw new StintError('SESSION_LOCKED', `that conversation is open in process ${pid}`, {
      detail: `pid=${pid}`,
      hint: 'Close it first, or write the files elsewhere: --to DIR',
    })
  const copies = files.filter(({ name }) => name === files[0]?.name)
  // Claude Code finds a conversation only if there is exactly one copy.
  if (copies.length > 1)
    throw new StintError('NAME_TAKEN', `the agent has ${copies.length} copies of it`, {
      hint: `Move all but one away: ${copies.map(({ path }) => path).join(', ')}`,
    })
  const directory = join(vault, agent, id)
  if (present !== undefined) {
    if (!replace) throw taken(files[0]?.path ?? '', {})
    await copyConversation(directory, present, { hasEnded: true })
  }
  // With what was just copied, the record says where the agent has the conversation now.
  const record = readRecord(directory)
  return (name) => {
    const { source = '', root: rootThen = '' } = record.files.get(name)?.last ?? {}
    return placeNow(source, rootThen, lstatIfExists(rootThen)?.isDirectory() ? rootThen : root)
  }
}

/** The files of a generation, the transcript first; of a file and its compressed form, the later one. */
function chooseVersions(
  record: ConversationRecord,
  generation = Number.POSITIVE_INFINITY,
): Omit<Plan, 'target'>[] {
  const transcript = transcriptOf(record)
  const isSuperseded = ({ name, last }: StoredFile): boolean =>
    [`${name}.zst`, name.replace(/\.zst$/, '')].some(
      (other) => other !== name && (record.files.get(other)?.last.at ?? 0) > last.at,
    )
  const chosen = [...record.files.values()]
    .filter((file) => !isSuperseded(file))
    .sort((a, b) => Number(b === transcript) - Number(a === transcript))
    .flatMap((file) => {
      const version = [...file.versions.values()].findLast((each) => each.generation <= generation)
      return version === undefined ? [] : [{ file, version }]
    })
  if (chosen.length > 0) return chosen
  throw new StintError('NOT_FOUND', `there is no generation ${generation} of this conversation`, {
    hint: `Its newest is ${record.lastGeneration}; leave --generation out for it.`,
  })
}

const taken = (path: string, { to }: RestoreOptions): StintError =>
  new StintError('NAME_TAKEN', `${path} is there already`, {
    hint:
      to === undefined
        ? '--replace keeps that copy in the vault and puts this one in its place; --to DIR writes elsewhere.'
        : 'Choose an empty directory.',
  })

/** A link on the way would lead to files elsewhere. */
function assertDirectory(path: string): void {
  const stat = lstatIfExists(path)
  if (stat === undefined) return assertDirectory(dirname(path))
  if (!stat.isDirectory())
    throw new StintError('NAME_TAKEN', `${path} is not a directory`, {
      hint: 'Move it away, or write the files elsewhere: --to DIR',
    })
}

/** Writes a file beside its target, checks it against the hash, and gives it its name. */
function restoreFile(record: ConversationRecord, { file, version, target }: Plan, replace: boolean): void {
  const directory = dirname(target)
  makePrivateDirectories(directory)
  const staged = join(directory, `.${process.pid}-${ulid()}.tmp`)
  const stored = openRegular(record.pathOf(file.name, version.generation))
  try {
    const fd = openPrivateFile(staged, 'wx')
    try {
      const hash = createHash('sha256')
      for (const bytes of piecesOf(stored.fd, 0, version.length)) {
        hash.update(bytes)
        writeAll(fd, bytes)
      }
      if (hash.digest('hex') !== version.sha256) throw damaged(record, file, version)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    if (replace) renameSync(staged, target)
    else nodeDisk.link(staged, target)
    nodeDisk.syncDirectory(directory)
  } finally {
    closeSync(stored.fd)
    unless(['ENOENT'], () => nodeDisk.unlink(staged))
  }
}

const damaged = (record: ConversationRecord, { name }: StoredFile, { generation }: Version): StintError =>
  new StintError('VAULT_DAMAGED', `${record.pathOf(name, generation)} is not as it was copied`, {
    detail: `file=${name} generation=${generation}`,
  })

/**
 * A process in which this conversation is open: it names the id in its arguments, has the id in a variable,
 * as the commands of an agent do, has one of the files open, or Claude Code has noted it for that process.
 */
function livingProcess(agent: FileAgent, id: string, paths: readonly string[]): number | undefined {
  const ancestors = new Set([...ancestorsOf(process.pid)].map(({ pid }) => pid))
  const table = readProcessTable()
  const isOpenIn = (pid: number): boolean =>
    listIfReadable(`/proc/${pid}/fd`).some((fd) =>
      paths.includes(ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''),
    )
  const inTable = table.processes.find(
    ({ pid }) =>
      table.environmentOf(pid).includes(`_ID=${id}\0`) ||
      (!ancestors.has(pid) && (table.commandOf(pid).includes(id) || isOpenIn(pid))),
  )
  return inTable?.pid ?? notedProcess(agent, id)
}

/** Claude Code keeps a file with the id of its session for each of its processes. */
function notedProcess(agent: FileAgent, id: string): number | undefined {
  const directory = join(agentRoot(agent), 'sessions')
  const names = listIfReadable(directory).filter((name) => /^\d+\.json$/.test(name))
  const pids = names.map((name) => Number.parseInt(name, 10)).filter(pidExists)
  return pids.find((pid) => readSmallFile(join(directory, `${pid}.json`))?.includes(`"${id}"`))
}
