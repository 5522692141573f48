import { lstatSync, readdirSync, rmdirSync, statfsSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { renameInto } from '../base/fs/atomic-file.ts'
import { ensureHomeDirectory } from '../base/fs/home.ts'
import { isWithin } from '../base/fs/paths.ts'
import { appendPrivateFile, createPrivateFile } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { type Identity, liveness, parseIdentity } from '../base/process/liveness.ts'
import { uptimeSeconds } from '../base/process/platform.ts'
import { isSessionId } from '../base/text/id.ts'
import { type Claim, type ClaimsRecord, isSameProcess, parseClaimsRecord } from './claim-record.ts'
import { isInForce } from './claim-status.ts'
import { isWorkspaceKey } from './lease-target.ts'
import { endsName, epochOfMarks, isMarkId } from './marks.ts'
import { runSync } from '../base/process/run-generator.ts'
import type { Register } from './register.ts'
import { covers } from './rules.ts'
import type { WorkspaceClaims } from './workspace-claims.ts'

// A pass tells the hooks of a session, without Node, that its claim stands: `hook/stint-hook.sh` reads it.
// All passes of a session are in one directory with its marks, each named after its key.

export interface Pass {
  key: string
  epoch: number
  agent: Identity
  /** The seconds since boot at which it ends, with the time that the machine was suspended. */
  until: number
  scope: 'workspace' | 'paths'
  /** The workspace. */
  root: string
  /** True if the workspace is a repository; false if no directory above it is in one. */
  isRepository: boolean
  /** The directories in which calls may begin. */
  directories: readonly string[]
  /** The directories whose files edits may change; with the scope `paths`, those files. */
  edits: readonly string[]
}

/** After so many seconds Node is asked, and renews the claim. */
const passSeconds = 3600

/** How many paths of each kind a pass has: a shell reads them one byte at a time. */
const maxPaths = 12

const format = 'pass-2'

/** The text of a pass: the numbers, one line for each path, and the agent, which the script need not read. */
export const formatPassFile = ({ epoch, agent, until, scope, root, isRepository, ...paths }: Pass) =>
  [
    [format, agent.boot, epoch, agent.pid, agent.started, until, scope].join(' '),
    `${isRepository ? 'repository' : 'directory'} ${root}`,
    ...paths.directories.slice(0, maxPaths).map((path) => `in ${path}`),
    ...paths.edits.slice(0, maxPaths).map((path) => `edit ${path}`),
    `agent ${JSON.stringify(agent)}`,
    '',
  ].join('\n')

/** Parses the pass of a key; undefined if it is damaged. */
export function parsePassFile(key: string, text: string): Pass | undefined {
  const [numbers = '', root = '', ...lines] = text.split('\n')
  const identity = lines.at(-2) ?? ''
  const [version, , epoch, , , until, scope] = numbers.split(' ')
  const agent = parseIdentity(ifPossible(() => JSON.parse(identity.slice('agent '.length)) as unknown))
  const [, kind, path] = /^(repository|directory) (\/.*)$/.exec(root) ?? []
  if (version !== format || agent === undefined || path === undefined) return undefined
  if ((scope !== 'workspace' && scope !== 'paths') || !Number.isSafeInteger(Number(epoch))) return undefined
  const pathsOf = (word: string): string[] =>
    lines.filter((line) => line.startsWith(`${word} /`)).map((line) => line.slice(word.length + 1))
  return {
    key,
    epoch: Number(epoch),
    agent,
    until: Number(until),
    scope,
    root: path,
    isRepository: kind === 'repository',
    directories: pathsOf('in'),
    edits: pathsOf('edit'),
  }
}

/** The session whose passes these are, and the process that its hooks must belong to. */
export interface PassOwner {
  sessionId: string
  agent: Identity
}

/** The paths that a granted call adds to the pass of its workspace. */
export type PassAddition = Pick<Pass, 'key' | 'scope' | 'root' | 'isRepository' | 'directories' | 'edits'>

/**
 * Writes the passes of a session anew, for the epochs that its claims are in now: any change of a record
 * closes the passes for it. `added` is what a call has just proved to be covered. Never throws: without a
 * pass, Node is asked.
 */
export function renewPasses(register: Register, owner: PassOwner, added?: PassAddition): void {
  ifPossible(() => {
    const { sessionId, agent } = owner
    const directory = register.marks?.directory
    if (directory === undefined || agent.started === null || !isSessionId(sessionId)) return
    const path = join(directory, sessionId)
    const names = listNames(path)
    const known = names.filter(isWorkspaceKey)
    for (const key of new Set([...(added === undefined ? [] : [added.key]), ...known])) {
      const before = parsePassFile(key, readSmallFile(join(path, key)) ?? '')
      const isOurs = before !== undefined && isSameProcess(before.agent, agent)
      const pass = merged(isOurs ? before : undefined, added)
      const claimed = pass && findClaim(register, key, owner, key === added?.key)
      if (pass === undefined || claimed === undefined) ifPossible(() => unlinkSync(join(path, key)))
      else if (claimed.epoch !== before?.epoch || pass !== before)
        writePass(directory, owner, { ...covered(pass, claimed.claim), ...claimed })
      // A call in one workspace may have its end in the marks of another.
      if (known.length === 1) removeOldMarks(path, names, key, claimed?.claim.pass?.folded)
    }
  })
}

/** How many files of folded marks a session keeps: a script that was stopped may note an end in one. */
const maxFoldedFiles = 8

/** Removes the oldest files of folded marks: a long turn changes the record often. */
function removeOldMarks(path: string, names: readonly string[], key: string, folded = 0): void {
  const epochs = names.flatMap((name) => {
    const of = epochOfMarks(name)
    return of?.key === key && of.epoch <= folded ? of.epoch : []
  })
  for (const epoch of epochs.toSorted((a, b) => b - a).slice(maxFoldedFiles))
    ifPossible(() => unlinkSync(join(path, `${key}.${epoch}`)))
}

/** A pass without the paths that the claim does not cover: it may have been narrowed meanwhile. */
function covered(pass: PassAddition, { paths }: Claim): PassAddition {
  const isCovered = (file: string): boolean =>
    paths.some((path) => covers(path, file.slice(pass.root.length + 1)))
  if (pass.scope === 'paths') return { ...pass, edits: pass.edits.filter(isCovered) }
  return paths.includes('**') ? pass : { ...pass, directories: [] }
}

/** A pass with the paths that a call adds first; the known one itself if that adds nothing. */
function merged(before: Pass | undefined, added: PassAddition | undefined): PassWithoutEpoch | undefined {
  if (added === undefined || (before !== undefined && before.key !== added.key)) return before
  const isSame = before?.scope === added.scope && before.root === added.root
  const union = (kind: 'directories' | 'edits'): string[] => [
    ...new Set([...added[kind], ...(isSame ? before[kind] : [])]),
  ]
  const [directories, edits] = [union('directories'), union('edits')]
  const adds = !isSame || directories.length + edits.length > before.directories.length + before.edits.length
  return adds ? { ...added, directories, edits } : before
}

type PassWithoutEpoch = PassAddition & Partial<Pass>

/**
 * The claim of a session, and the epoch it is in; undefined if it may have no pass there. `isGranted`: this
 * process has just got the claim, and looked above and below.
 */
function findClaim(
  register: Register,
  key: string,
  { sessionId, agent }: PassOwner,
  isGranted: boolean,
): { epoch: number; claim: Claim; since: number } | undefined {
  const { epoch, record } = readRecord(register, key)
  const claim = record?.claims.find(({ session_id }) => session_id === sessionId)
  if (claim?.pass === undefined || record?.closed === true) return undefined
  // Node looks above and below a directory at its next call.
  if (claim.unconfirmed && !isGranted) return undefined
  return claim.holders.some((holder) => isSameProcess(holder, agent))
    ? { epoch, claim, since: claim.pass.uptime }
    : undefined
}

function readRecord(register: Register, key: string): { epoch: number; record: ClaimsRecord | undefined } {
  const { epoch, text } = runSync(register, register.read(key))
  return { epoch, record: text === undefined ? undefined : parseClaimsRecord(text, '') }
}

function writePass(
  directory: string,
  { sessionId, agent }: PassOwner,
  pass: PassAddition & { epoch: number; since: number },
): void {
  const uptime = uptimeSeconds()
  const path = join(directory, sessionId)
  for (const each of [directory, path]) ensureHomeDirectory(each)
  if (uptime === undefined || !isLocalFileSystem(statfsSync(path).type)) return
  // The hour begins with the claim's last change by Node, however often the pass is written anew.
  const until = Math.floor(Math.min(uptime, pass.since)) + passSeconds
  const isListed = (each: string): boolean => isPlain(each) && isWithin(each, pass.root)
  const [directories, edits] = [pass.directories.filter(isListed), pass.edits.filter(isListed)]
  if (!isPlain(pass.root) || directories.length === 0) return
  const text = formatPassFile({ ...pass, agent, until, directories, edits })
  // The script appends only to a file that is there, so it creates none that others may read.
  appendPrivateFile(join(path, `${pass.key}.${pass.epoch}`), '')
  renameInto(join(path, pass.key), (staged) => createPrivateFile(staged, text))
}

/** A shell compares paths with the JSON of an event, which writes all other characters differently. */
const isPlain = (path: string): boolean => !/[^ -~\u0080-\uffff]|["\\]/.test(path)

/** The numbers of ext, xfs, btrfs, tmpfs, overlay, zfs, f2fs, bcachefs and ramfs in `statfs`. */
const localFileSystems = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e, 0x858458f6,
])

/** Whether a file system of this type, by `statfs`, is local: one of a network may show an old listing. */
export const isLocalFileSystem = (type: number): boolean => localFileSystems.has(type)

/** A call that may begin without a change of the record. */
export interface MarkedCall extends PassOwner {
  id: string
  kind: 'command' | 'edit'
  /** The paths that the claim must cover. */
  needs: readonly string[]
  /** The seconds since boot now. */
  uptime: number
}

/**
 * Begins a call as the script does, in the present epoch, if the claim covers it and stands: the pass does
 * not list its paths, or another session has changed the record. A change would close that session's pass.
 */
export function beginByMark(claims: WorkspaceClaims, call: MarkedCall): boolean {
  const { register, key } = claims
  const { sessionId, agent, uptime } = call
  const directory = register.marks?.directory
  const { epoch, record, observation } = claims.readSync()
  const claim = record.claims.find(({ session_id }) => session_id === sessionId)
  if (directory === undefined || claim?.pass === undefined || record.closed === true) return false
  const isOld = uptime - claim.pass.uptime > passSeconds || uptime < claim.pass.uptime
  const isCovered = call.needs.every((need) => claim.paths.some((path) => covers(path, need)))
  const isHolder = claim.holders.some((holder) => isSameProcess(holder, agent))
  if (isOld || claim.unconfirmed || !isCovered || !isHolder || !isInForce(claim, observation)) return false
  const marks = join(directory, sessionId, `${key}.${epoch}`)
  const mark = `+${call.id} ${uptime.toFixed(2)} ${agent.pid} ${call.kind}\n`
  if (!isMarkId(call.id) || ifPossible(() => appendPrivateFile(marks, mark) ?? true) === undefined)
    return false
  // Otherwise the caller decides: a mark in a superseded epoch does no harm, but an end of the call would.
  return runSync(register, register.read(key)).epoch === epoch
}

/** Notes the end of a call that was refused after its hook had written a mark. */
export function noteRefusedCall(register: Register, sessionId: string, id: string): void {
  const directory = register.marks?.directory
  if (directory === undefined || !isSessionId(sessionId) || !isMarkId(id)) return
  const uptime = uptimeSeconds() ?? 0
  ifPossible(() => appendPrivateFile(join(directory, sessionId, endsName), `-${id} ${uptime.toFixed(2)}\n`))
}

/**
 * Removes the marks of a session that no reader needs any more: those that are folded into its claims, and
 * those of claims that it has released. Called at the end of a turn, when no call that they end can run.
 */
export function removeMarks(register: Register, sessionId: string): void {
  const directory = register.marks?.directory
  if (directory === undefined || !isSessionId(sessionId)) return
  const path = join(directory, sessionId)
  for (const name of listNames(path)) {
    const of = epochOfMarks(name)
    if (of !== undefined && of.epoch <= foldedEpoch(register, of.key, sessionId))
      ifPossible(() => unlinkSync(join(path, name)))
  }
}

/** The marks of this epoch and of earlier ones are in the record of a key, or of a claim that has ended. */
function foldedEpoch(register: Register, key: string, sessionId: string): number {
  const { epoch, record } = readRecord(register, key)
  const claim = record?.claims.find(({ session_id }) => session_id === sessionId)
  return claim?.pass?.folded ?? epoch
}

/** Removes the passes and marks of a session that has ended; not those of another process that goes on. */
export function forgetPasses(register: Register, owner: PassOwner): void {
  const { sessionId } = owner
  const directory = register.marks?.directory
  if (directory === undefined || !isSessionId(sessionId)) return
  removeMarks(register, sessionId)
  renewPasses(register, owner)
  const path = join(directory, sessionId)
  const names = listNames(path)
  if (names.every((name) => name === endsName)) removeFlat(path, names)
}

/** The sweep removes the files of a session whose agent it cannot see after this time: a week. */
const unusedAfterMs = 7 * 24 * 3_600_000

/**
 * Removes the passes and marks of sessions whose agents have died. A session may go on in another process
 * meanwhile: its marks are in a new file, as its claim has a new epoch, so only the files listed before go.
 */
export function sweepPasses(directory: string, livenessOf = liveness): void {
  for (const session of listNames(directory)) {
    const path = join(directory, session)
    const changedAt = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    const names = listNames(path)
    const agents = names.flatMap(
      (name) =>
        (isWorkspaceKey(name) && parsePassFile(name, readSmallFile(join(path, name)) ?? '')?.agent) || [],
    )
    const isDead = agents.length > 0 && agents.every((agent) => livenessOf(agent) === 'dead')
    if (isDead || Date.now() - changedAt > unusedAfterMs) removeFlat(path, names)
  }
}

/** Removes files of a directory, and the directory if nothing else is in it. */
function removeFlat(path: string, names: readonly string[]): void {
  for (const name of names) ifPossible(() => unlinkSync(join(path, name)))
  ifPossible(() => rmdirSync(path))
}

const listNames = (path: string): string[] => ifPossible(() => readdirSync(path)) ?? []
