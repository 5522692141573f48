import { createHash } from 'node:crypto'
import { dirname, join, relative } from 'node:path'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { linkInto, renameInto } from '../base/fs/atomic-file.ts'
import { closing, nodeDisk } from '../base/fs/disk.ts'
import { exists, isRealDirectory } from '../base/fs/exists.ts'
import { isWithin, nonDirectoryOn } from '../base/fs/paths.ts'
import { makePrivateDirectories, writeAll } from '../base/fs/private-file.ts'
import { shellWord } from '../base/text/escape.ts'
import { type ConversationRecord, type CopyLine, readRecord } from './conversation-record.ts'
import { copyConversation } from './copy-conversation.ts'
import { findConversations } from './find-conversations.ts'
import { agentRoot, resumeCommand, type VaultAgent } from './places.ts'
import { openStored, piecesOf } from './read-conversation.ts'

export interface RestoreOptions {
  /** Writes the files below this directory, and not where the agent looks for them. */
  to?: string
  /** Replaces the copy that the agent has, which is kept as a generation first. */
  replace?: boolean
  /** As it was in this generation; by default the newest. */
  generation?: number
}

/** Puts the files of a conversation back, byte by byte, with the present time. */
export async function restoreConversation(
  { agent, id, record }: { agent: VaultAgent; id: string; record: ConversationRecord },
  options: RestoreOptions = {},
): Promise<{ paths: string[]; bytes: number; resume: string | null }> {
  const { to, replace = false, generation } = options
  const versions = chooseVersions(record, generation)
  if (to === undefined) await makeWay(record.directory, agent, id, replace)
  // With what was just copied, the record says where the agent has the conversation now.
  const { files } = readRecord(record.directory)
  const plans = versions.map((version) => ({
    version,
    target:
      to === undefined ? placeNow(files.get(version.file)?.at(-1) ?? version, agent) : join(to, version.file),
  }))
  for (const { target } of plans) {
    const file = nonDirectoryOn(dirname(target))
    if (file !== undefined)
      throw new StintError('NAME_TAKEN', `${file} is not a directory`, {
        hint: 'Move it away, or write the files elsewhere: --to DIR',
      })
    if (!replace && exists(target)) throw taken(target, to)
  }
  // The transcript last: the agent finds the conversation by it, and then all of it must be there.
  for (const { version, target } of plans.toReversed()) {
    const give = replace ? renameInto : linkInto
    try {
      restoreFile(record.pathOf(version), version, target, give)
    } catch (error) {
      throw errorCode(error) === 'EEXIST' ? taken(target, to) : error
    }
  }
  const paths = plans.map(({ target }) => target)
  const importCommand = agent === 'opencode' ? `opencode import ${shellWord(paths[0] ?? '')}` : null
  return {
    paths,
    bytes: versions.reduce((sum, version) => sum + version.bytes, 0),
    resume: to === undefined ? resumeCommand({ agent, id }) : importCommand,
  }
}

/** The files of a generation, the transcript first; of a file and its compressed form, the later one. */
function chooseVersions(record: ConversationRecord, generation = record.lastGeneration): CopyLine[] {
  const { transcript, files, lastGeneration } = record
  if (generation < 1 || generation > lastGeneration)
    throw new StintError('NOT_FOUND', `there is no generation ${generation} of this conversation`, {
      hint: `Its newest is ${lastGeneration}; leave --generation out for it.`,
    })
  const isSuperseded = ({ file, at }: CopyLine): boolean =>
    [`${file}.zst`, file.replace(/\.zst$/, '')].some(
      (other) => other !== file && (files.get(other)?.at(-1)?.at ?? 0) > at,
    )
  return record.newest
    .filter((copy) => !isSuperseded(copy))
    .sort((a, b) => Number(b === transcript) - Number(a === transcript))
    .flatMap(({ file }) => files.get(file)?.findLast((copy) => copy.generation <= generation) ?? [])
}

/** Checks that the agent can have the conversation back; keeps the copy that the agent has. */
async function makeWay(directory: string, agent: VaultAgent, id: string, replace: boolean): Promise<void> {
  if (agent === 'opencode')
    throw new StintError('ARG_ERROR', 'OpenCode keeps its conversations in a database', {
      hint: 'Write the export to a directory (--to DIR), then run: opencode import DIR/export.json',
    })
  const present = findConversations(agent).sources.find((source) => source.id === id)
  const files = present?.files ?? []
  const copies = files.filter(({ name }) => name === files[0]?.name)
  // Claude Code finds a conversation only if there is exactly one copy.
  if (copies.length > 1)
    throw new StintError('NAME_TAKEN', `the agent has ${copies.length} copies of it`, {
      hint: `Move all but one away: ${copies.map(({ path }) => path).join(', ')}`,
    })
  if (present === undefined) return
  if (!replace) throw taken(files[0]?.path ?? '', undefined)
  await copyConversation(directory, present, { hasEnded: true })
}

/** Where a file belongs in the agent's present directory, which may be another one than at its copy. */
function placeNow({ source, root }: CopyLine, agent: VaultAgent): string {
  if (isRealDirectory(root) || !isWithin(source, root)) return source
  return join(agentRoot(agent), relative(root, source))
}

const taken = (path: string, to: string | undefined): StintError =>
  new StintError('NAME_TAKEN', `${path} is there already`, {
    hint:
      to === undefined
        ? '--replace keeps that copy in the vault and puts this one in its place; --to DIR writes elsewhere.'
        : 'Choose an empty directory.',
  })

/** Writes a file beside its target, checks it against the hash, and gives it its name. */
function restoreFile(path: string, version: CopyLine, target: string, give: typeof renameInto): void {
  using stored = openStored(path)
  makePrivateDirectories(dirname(target))
  give(target, (staged) => {
    using file = closing(nodeDisk, nodeDisk.create(staged))
    const hash = createHash('sha256')
    for (const bytes of piecesOf(stored.fd, 0, version.bytes)) {
      hash.update(bytes)
      writeAll(file.fd, bytes)
    }
    if (hash.digest('hex') !== version.sha256)
      throw new StintError('VAULT_DAMAGED', `${path} is not as it was copied`, {
        detail: `file=${version.file} generation=${version.generation}`,
      })
    nodeDisk.sync(file.fd)
  })
  nodeDisk.syncDirectory(dirname(target))
}
