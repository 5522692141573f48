import { fstatSync, statSync } from 'node:fs'
import { errorMessage } from '../base/errors/stint-error.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { columnsOf } from '../base/process/terminal.ts'
import { deliver } from '../base/process/write-output.ts'
import { homeRegister, readDescent } from '../lease/index.ts'
import {
  type Ancestor,
  ancestorsOf,
  readCommandLine,
  withEachProcessReadOnce,
} from '../base/process/platform.ts'
import { agentProcess } from './agent-process.ts'
import { eventOfPatch, type HookEvent, readEvent } from './event.ts'
import { type GitCommand, parseGitCommand } from './git-command.ts'
import { guardGit } from './git-guard.ts'
import { handleEvent, type HookContext } from './handle-event.ts'
import { noteWarning } from './hook-log.ts'
import { formatResponse, type HookResponse } from './host-response.ts'
import { type HookOptions, parseOptions, usage } from './options.ts'
import { readObject, readText, takeInput } from './read-input.ts'
import type { RecordRequest } from './record/record.ts'
import { checkTask, onFault, recordTask, type Verdict } from './verdict.ts'
import { waitForCall } from './wait-for-call.ts'

/** What the launcher learns about an event that was handled. */
export interface Ended {
  /** Set for a tool call: the functions compiled by now are those that such a call needs. */
  call: 'allowed' | 'refused' | undefined
  /** Nothing is left to do: no wait is under way. */
  isAnswered: boolean
}

const { response, event } = runHook(process.argv.slice(2), process.env)
export const isAnswered: Ended['isAnswered'] = !(response instanceof Promise)
if (response instanceof Promise) void response.then(respond)
else respond(response)

export const call: Ended['call'] = callOf(event, response)

function callOf(event: HookEvent | undefined, response: HookResponse | Promise<HookResponse>): Ended['call'] {
  if (event?.kind !== 'pre' || event.tool === undefined || response instanceof Promise) return undefined
  return response.codeIfUnread === 0 ? 'allowed' : 'refused'
}

function respond({ stdout, stderr, code, codeIfUnread }: HookResponse): void {
  deliver(2, stderr)
  const delivered = deliver(1, stdout) === 'written'
  process.exitCode = code === codeIfUnread || (delivered && !isNullDevice(1)) ? code : codeIfUnread
}

/** Handles one event: arguments, stdin, verdict, response. A fault of stint's becomes a logged warning. */
function runHook(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { response: HookResponse | Promise<HookResponse>; event?: HookEvent } {
  const options = parseOptions(args)
  if (options === undefined)
    return { response: { stdout: '', stderr: `${usage}\n`, code: 1, codeIfUnread: 1 } }
  const { failClosed, agent: configured } = options
  if (configured === 'git') {
    const [name = ''] = options.words
    const verdict = orFault(options, { name }, env, checkTask, () => judgeGit(options, env))
    const response = formatResponse(verdict, { host: 'git', kind: 'pre', configured, failClosed })
    return { response: { ...response, stderr: fitTerminal(response.stderr) } }
  }
  const given = takeInput(env)
  const input = readObject(given?.length === 0 ? undefined : given)
  const json = typeof input === 'string' ? eventOfPatch(input) : input
  if (json === undefined) {
    const verdict = fault(options, {}, env, checkTask, 'stdin is not a JSON object')
    return { response: formatResponse(verdict, { host: configured, kind: 'pre', configured, failClosed }) }
  }
  const event = readEvent(json, { configured, name: options.event, env })
  const { host, kind } = event
  const format = (verdict: Verdict): HookResponse =>
    formatResponse(verdict, { host, kind, configured, failClosed })
  const judged = orFault(options, event, env, checkTask, () =>
    judgeEvent(event, options, env, given !== undefined),
  )
  return { response: judged instanceof Promise ? judged.then(format) : format(judged), event }
}

function judgeGit({ words: [hook = '', ...args] }: HookOptions, env: NodeJS.ProcessEnv): Verdict {
  const ancestors = [...ancestorsOf(process.ppid)]
  const command = (): GitCommand => parseGitCommand(hook === 'shim' ? args : runningGit(ancestors))
  const call = { hook, args, lines: () => readText(), command }
  const descent = () => readDescent(process.pid, env)
  return guardGit(call, { env, descent, cwd: process.cwd(), register: homeRegister(env) })
}

/** A person reads what git's hooks say: a terminal would break the lines within words. */
function fitTerminal(text: string): string {
  const columns = text === '' ? undefined : columnsOf(2)
  if (columns === undefined) return text
  try {
    // Only a refusal needs it.
    const { wrapLines } = require('./wrap.cjs') as typeof import('../base/text/wrap.ts')
    return wrapLines(text, columns)
  } catch {
    return text
  }
}

/** The words after `git` of the process that runs the hook; none where they cannot be seen. */
function runningGit(ancestors: readonly Ancestor[]): string[] {
  const git = ancestors.find(({ name }) => name === 'git')
  return git === undefined ? [] : readCommandLine(git.pid).slice(1)
}

/** Changes the claims as the event requires; only a wait takes longer than this call. */
function judgeEvent(
  event: HookEvent,
  options: HookOptions,
  env: NodeJS.ProcessEnv,
  usesPasses: boolean,
): Verdict | Promise<Verdict> {
  const agent = agentProcess(event.host, env)
  // The agent starts this process before the call, so all processes of the call are younger.
  const ticks = ownIdentity().started ?? undefined
  const context = { register: homeRegister(env), agent, env, ticks, usesPasses }
  const record = (verdict: Verdict): Verdict => recorded(event, verdict, options, context)
  const verdict = withEachProcessReadOnce(() => handleEvent(event, options, context))
  if (!verdict.block || options.waitMs === 0) return record(verdict)
  return waitForCall(event, options, context)
    .catch((error: unknown) => {
      // The call was refused before: a wait that fails does not allow it.
      const { name, sessionId: session } = event
      noteWarning({ agent: options.agent, event: name, session, warning: errorMessage(error) }, env)
      return verdict
    })
    .then(record)
}

/** Records a verdict, if the user chose that; a failure may change it. */
function recorded(
  event: HookEvent,
  verdict: Verdict,
  options: HookOptions,
  { agent, env }: HookContext,
): Verdict {
  if (!options.record) return verdict
  const outcome = orFault(options, event, env, recordTask, () => {
    // Recording is rare: its code is a file of its own, loaded only here.
    const { record } = require('./hook-record.cjs') as { record: (request: RecordRequest) => void }
    record({ event, verdict, agent, env })
    return verdict
  })
  // A refusal stands even if it could not be recorded.
  return verdict.block ? verdict : outcome
}

type EventName = Partial<Pick<HookEvent, 'name' | 'sessionId'>>

function orFault<Judged>(
  options: HookOptions,
  event: EventName,
  env: NodeJS.ProcessEnv,
  task: string,
  judge: () => Judged,
): Judged | Verdict {
  try {
    return judge()
  } catch (error) {
    return fault(options, event, env, task, errorMessage(error))
  }
}

function fault(
  { agent, failClosed }: HookOptions,
  { name = '', sessionId }: EventName,
  env: NodeJS.ProcessEnv,
  task: string,
  warning: string,
): Verdict {
  noteWarning({ agent, event: name, session: sessionId, warning }, env)
  return onFault(failClosed, '--fail-closed', task, warning)
}

/** Node opens /dev/null in place of a closed output: a response written there is lost, too. */
function isNullDevice(fd: number): boolean {
  try {
    return fstatSync(fd).rdev === statSync('/dev/null').rdev
  } catch {
    return false
  }
}
