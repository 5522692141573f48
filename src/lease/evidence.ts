import { closeSync, existsSync, fstatSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { isWithin } from '../base/fs/paths.ts'
import { openRegular } from '../base/fs/regular-file.ts'
import { geteuid, readSystemFile, thisMachine } from '../base/process/platform.ts'
import {
  type ProcessTable,
  readProcessTable,
  startedSince,
  type TableProcess,
  descendants,
} from '../base/process/process-table.ts'
import { visibleText } from '../base/text/escape.ts'
import { isRecord, parseObject } from '../base/text/fields.ts'
import { registerEnvironmentSecrets } from '../secrets/index.ts'
import type { Claim, ClaimOrigin } from './claim.ts'
import { leftoverMs, type SessionProcess } from './force.ts'
import { isOfOtherSession } from './party.ts'

// What the machine shows about a claim besides time and liveness: the processes that its session has started,
// and an interruption in the transcript of its agent. Every door judges claims by the same evidence.

/** The processes of another machine, boot or pid namespace cannot be seen from here. */
const canBeSeen = ({ holders }: Claim): boolean => {
  const { boot, pidns } = thisMachine()
  return holders.some((holder) => holder.boot === boot && holder.pidns === pidns)
}

/** Programs that keep a machine awake while an agent works. */
const helpers = new Set(['caffeinate', 'systemd-inhibit'])

/** The name that a hook gives to its process while it waits for a claim. */
export const waitingHookName = 'stint-hook'

/** The command line of a hook, or of the shell that has started it. */
const hookCommand = /(?:^|[\0/ '"])stint-hook(?:\.cjs|\.sh)?(?:[\0 '"]|$)/

/**
 * The calls of a session that still have a process in the workspace, the oldest first, each by its top
 * process: a leaf may change every second. A process counts if it is a descendant of a holder that has
 * started since the grant, or has the session's variable in its environment.
 */
export function sessionWork(
  claim: Claim,
  workspace: string,
  readTable: () => ProcessTable = readProcessTable,
): SessionProcess[] {
  if (!canBeSeen(claim)) return []
  const table = readTable()
  const session = sessionProcesses(claim, table)
  const byPid = new Map(session.map((process) => [process.pid, process]))
  const tops = new Set<TableProcess>()
  for (const process of session.filter((each) => isAtWork(claim, workspace, table, each)))
    tops.add(topOf(process, byPid))
  return [...tops].sort((a, b) => a.startedAt - b.startedAt).map((top) => describe(top, claim, table))
}

/**
 * The processes of a session. Before the grant, a process of the agent may be one of its own, such as an MCP
 * server: only the session's variable, which agents set for commands, tells that a call has started it.
 */
function sessionProcesses(claim: Claim, table: ProcessTable): TableProcess[] {
  const variable = claim.origin?.variable
  const isYoung = (process: TableProcess): boolean =>
    isNew(process, claim) || Date.now() - process.startedAt <= leftoverMs
  // Few processes are young: read the environments of those only.
  const hasVariable = (process: TableProcess): boolean =>
    variable !== undefined && isYoung(process) && table.environmentOf(process.pid).includes(`\0${variable}\0`)
  const outsiders = askersIn(table)
  for (const { pid } of claim.holders) outsiders.add(pid)
  const processes = descendants(table.processes, claim.holders, hasVariable).filter(
    (process) =>
      !outsiders.has(process.pid) &&
      table.userOf(process.pid) === geteuid() &&
      (isNew(process, claim) || hasVariable(process)) &&
      !helpers.has(process.name) &&
      !(
        claim.origin?.shared_process && isOfOtherSession(claim, table.environmentOf(process.pid).split('\0'))
      ),
  )
  const hooks = new Set(
    processes.filter((process) => isHook(table, process)).flatMap((hook) => belowOf(hook, table)),
  )
  return processes.filter((process) => !hooks.has(process))
}

const isNew = (process: TableProcess, { ticks, acquired_at: wall }: Claim): boolean =>
  startedSince(process, { ticks, wall })

const isHook = (table: ProcessTable, { pid, name }: TableProcess): boolean =>
  name === waitingHookName || hookCommand.test(table.commandOf(pid))

/** The pids of this process and its ancestors: a process that asks is never in its own way. */
function askersIn({ processes }: ProcessTable): Set<number> {
  const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]))
  const pids = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && !pids.has(pid);) {
    pids.add(pid)
    pid = parents.get(pid)
  }
  return pids
}

/**
 * Whether the working directory of a process is in the claimed workspace, and in no repository below it. One
 * whose directory cannot be known counts as one that is.
 */
function isAtWork({ paths }: Claim, workspace: string, table: ProcessTable, { pid }: TableProcess): boolean {
  const directory = table.directoryOf(pid)
  if (directory === undefined) return true
  const trees = paths.some((path) => path.startsWith('/')) ? paths : [workspace]
  return trees.some((tree) => isWithin(directory, tree) && !hasRepositoryBetween(tree, directory))
}

function hasRepositoryBetween(tree: string, directory: string): boolean {
  for (let at = directory; at !== tree && at !== dirname(at); at = dirname(at))
    if (existsSync(join(at, '.git'))) return true
  return false
}

/** The process of a call that the agent has started: the highest above this one that is of the session. */
function topOf(process: TableProcess, session: Map<number, TableProcess>): TableProcess {
  let top = process
  // A pid that was reused while the table was read can close a loop.
  for (let steps = 0; steps < session.size; steps++) top = session.get(top.ppid) ?? top
  return top
}

const describe = (top: TableProcess, claim: Claim, table: ProcessTable): SessionProcess => ({
  pid: top.pid,
  ageMs: Math.max(0, Date.now() - top.startedAt),
  isSinceGrant: isNew(top, claim),
  get command() {
    return commandText(table.commandOf(top.pid), top.name)
  },
  get isServer() {
    return belowOf(top, table).some(({ pid }) => isListening(pid))
  },
})

const belowOf = (top: TableProcess, { processes }: ProcessTable): TableProcess[] =>
  descendants(processes, [{ ...thisMachine(), pid: top.pid, started: top.started }], () => false)

/**
 * Whether a process listens on a TCP port: one of its sockets is in the state 0A of the kernel's tables.
 * Where there is no /proc, a server cannot be told from other work.
 */
function isListening(pid: number): boolean {
  const sockets = new Set(
    listIfReadable(`/proc/${pid}/fd`).flatMap(
      (fd) =>
        /^socket:\[(\d+)\]$/.exec(ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? '')?.[1] ?? [],
    ),
  )
  if (sockets.size === 0) return false
  return ['tcp', 'tcp6'].some((table) =>
    (readSystemFile(`/proc/${pid}/net/${table}`) ?? '').split('\n').some((line) => {
      const fields = line.trim().split(/\s+/)
      return fields[3] === '0A' && sockets.has(fields[9] ?? '')
    }),
  )
}

const shellProgram = /^-?(?:.*\/)?(?:sh|bash|dash|zsh|ash|ksh)$/
const maxCommandLength = 60

/**
 * The command of a call, for another session to read. Agents wrap it: `bash -lc COMMAND` in Codex, and
 * `bash -c "source SNAPSHOT && eval 'COMMAND' …"` in Claude Code.
 */
export function commandText(commandLine: string, name: string): string {
  const words = commandLine.split('\0').filter((word) => word !== '')
  const option = shellProgram.test(words[0] ?? '') ? words.findIndex((word) => /^-\w*c$/.test(word)) : -1
  // Claude Code has options after `-c`: bash -c -l SCRIPT.
  const script = option < 0 ? undefined : words.slice(option + 1).find((word) => !word.startsWith('-'))
  const [, quoted] = /\beval '((?:[^']|'\\''|'"'"')*)'/.exec(script ?? '') ?? []
  const text = quoted?.replaceAll(/'\\''|'"'"'/g, "'") ?? script ?? words.join(' ')
  const masked = registerEnvironmentSecrets().gate.text(withoutValues(text.replaceAll(/\s+/g, ' ').trim()))
  return visibleText(masked === '' ? name : masked, maxCommandLength)
}

/** Hides what may be a password: the value of an assignment or an option such as --token, a user in a URL. */
const withoutValues = (command: string): string =>
  command
    .replaceAll(/(^|[\s;&|(])(\w+)=("[^"]*"|'[^']*'|[^\s;&|)]+)/g, '$1$2=…')
    .replaceAll(/(-\w*(?:pass|token|secret|key|auth|user)[\w-]*)[= ]("[^"]*"|'[^']*'|\S+)/gi, '$1 …')
    .replaceAll(/(\s-[pu])(?=\S*\d|\S{6})\S+/g, '$1…')
    .replaceAll(/:\/\/[^/\s@]+@/g, '://…@')

/** How much of a transcript is read. */
const maxTranscriptBytes = 64 << 10

/**
 * Whether the user has interrupted the turn since the claim's last renewal: Claude Code and Qwen Code append
 * an entry to the transcript then, and send no event. An entry of the user after it, or a subagent that has
 * written since, shows that the turn goes on.
 */
export function isTurnOver({ origin }: Claim): boolean {
  const { path, size } = origin?.transcript ?? {}
  if (path === undefined || size === undefined) return false
  return (
    ifPossible(() => {
      const { text, mtimeMs } = readGain(path, size)
      return isInterruption(lastUserEntry(text)) && !hasNewerSubagent(path, mtimeMs)
    }) ?? false
  )
}

/** The end of what a file has gained since it had this size. */
function readGain(path: string, size: number): { text: string; mtimeMs: number } {
  const { fd } = openRegular(path)
  try {
    const stat = fstatSync(fd)
    const start = Math.max(size, stat.size - maxTranscriptBytes)
    const bytes = Buffer.alloc(Math.max(0, stat.size - start))
    const length = bytes.length === 0 ? 0 : readSync(fd, bytes, 0, bytes.length, start)
    return { text: bytes.toString('utf8', 0, length), mtimeMs: stat.mtimeMs }
  } finally {
    closeSync(fd)
  }
}

/** The last whole entry of the user. The first and last line of a part of a file may be incomplete. */
const lastUserEntry = (text: string): Record<string, unknown> | undefined =>
  text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.includes('"user"'))
    .map(parseObject)
    .findLast((entry) => entry?.type === 'user' && entry.isSidechain !== true)

/** Whether the only text of an entry says that the request was interrupted. */
function isInterruption(entry: Record<string, unknown> | undefined): boolean {
  const message = isRecord(entry?.message) ? entry.message : {}
  const content = message.content ?? message.parts
  const [part, ...more] = Array.isArray(content) ? (content as unknown[]) : [{ text: content }]
  const text = isRecord(part) ? part.text : undefined
  return more.length === 0 && typeof text === 'string' && /^\[Request interrupted by user[^\]]*\]$/.test(text)
}

/** Claude Code keeps the transcripts of subagents in `<session>/subagents/` beside that of the session. */
function hasNewerSubagent(transcript: string, mtimeMs: number): boolean {
  const directory = join(transcript.replace(/\.jsonl$/, ''), 'subagents')
  return (ifPossible(() => readdirSync(directory)) ?? []).some(
    (name) => (statSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0) > mtimeMs,
  )
}

/** When the transcript of a session was last written, in milliseconds since the epoch. */
export function transcriptTime(origin: ClaimOrigin | undefined): number | undefined {
  const path = origin?.transcript?.path
  return path === undefined ? undefined : ifPossible(() => Math.round(statSync(path).mtimeMs))
}
