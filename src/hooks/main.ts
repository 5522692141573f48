import { existsSync, fstatSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { homePath } from '../base/fs/home.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { deliver } from '../base/process/terminal.ts'
import { type Claim, homeStore, readDescent, transcriptTime, waitingHookName } from '../lease/index.ts'
import type { TurnOfSession } from '../points/index.ts'
import { type Ancestor, ancestorsOf, readCommandLine } from '../base/process/platform.ts'
import { type EventKind, longPatienceMs } from './hosts/host.ts'
import { agentProcess } from './session-party.ts'
import type { HookContext, Turn, TurnPoints } from './begin-call.ts'
import { eventOfPatch, type HookEvent, readEvent } from './event.ts'
import { type GitCommand, parseGitCommand } from './git-command.ts'
import { guardGit } from './git-guard.ts'
import { handleEvent } from './handle-event.ts'
import { noteWarning } from './hook-log.ts'
import { type HookOptions, parseOptions, usage } from './options.ts'
import { readObject, readText, takeInput } from './read-input.ts'
import { checkTask, formatResponse, type HookResponse, onFault, recordTask, type Verdict } from './verdict.ts'

/** What the launcher learns about an event that was handled: a call before it runs, or the event's kind. */
export type Ended = 'allowed' | 'refused' | EventKind | undefined

/**
 * Handles the event on stdin, writes the response, and sets the exit code. This runs while the launcher
 * imports the file: the constants below are not initialised before the first `await`.
 */
export const ended: Promise<Ended> = runHook(process.argv.slice(2), process.env)

async function runHook(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const options = parseOptions(args)
  if (options === undefined) {
    respond({ stdout: '', stderr: `${usage}\n`, code: 1, codeIfUnread: 1 })
    return undefined
  }
  if (options.agent === 'git') {
    respond(await answerGit(options, env))
    return undefined
  }
  const { event, response } = await answerAgent(options, env)
  respond(response)
  if (event !== undefined) copyTranscript(event, env)
  if (event?.kind !== 'pre') return event?.kind
  return response.codeIfUnread === 0 ? 'allowed' : 'refused'
}

/** What an event means for the vault; the transcript of a subagent belongs to that of its session. */
const vaultMoments = { start: 'start', stop: 'stop', compact: 'stop', end: 'end' } as const

/** Starts a process that copies what is new in the transcript into the vault, if the user has one. */
function copyTranscript({ host: agent, kind, sessionId, subagent }: HookEvent, env: NodeJS.ProcessEnv): void {
  const moment = vaultMoments[kind as keyof typeof vaultMoments]
  if (moment === undefined || sessionId === undefined || subagent) return
  if (!existsSync(`${homePath(env)}/vault`)) return
  const { copyTranscriptDetached } = require('./hook-vault.cjs') as typeof import('../vault/index.ts')
  copyTranscriptDetached({ agent, sessionId, moment }, `${__dirname}/vault-copy.cjs`, env)
}

function respond({ stdout, stderr, code, codeIfUnread }: HookResponse): void {
  deliver(2, stderr)
  // Node opens /dev/null in place of a closed output: what is written there is lost, too.
  const isNullDevice = (): boolean =>
    ifPossible(() => fstatSync(1).rdev === statSync('/dev/null').rdev) ?? false
  const isDelivered = deliver(1, stdout) === 'written'
  process.exitCode = code === codeIfUnread || (isDelivered && !isNullDevice()) ? code : codeIfUnread
}

async function answerGit(options: HookOptions, env: NodeJS.ProcessEnv): Promise<HookResponse> {
  const [name = ''] = options.words
  const verdict = await orFault(options, { name }, env, checkTask, () => judgeGit(options, env))
  const { failClosed } = options
  return formatResponse(verdict, { host: 'git', kind: 'pre', configured: 'git', failClosed })
}

function judgeGit({ words: [hook = '', ...args] }: HookOptions, env: NodeJS.ProcessEnv): Promise<Verdict> {
  const ancestors = [...ancestorsOf(process.ppid)]
  const command = (): GitCommand => parseGitCommand(hook === 'shim' ? args : runningGit(ancestors))
  const call = { hook, args, lines: () => readText(), command }
  const descent = () => readDescent(process.pid, env)
  return guardGit(call, { env, descent, cwd: process.cwd(), store: homeStore(env) })
}

/** The words after `git` of the process that runs the hook; none where they cannot be seen. */
function runningGit(ancestors: readonly Ancestor[]): string[] {
  const git = ancestors.find(({ name }) => name === 'git')
  return git === undefined ? [] : readCommandLine(git.pid).slice(1)
}

async function answerAgent(
  options: HookOptions,
  env: NodeJS.ProcessEnv,
): Promise<{ response: HookResponse; event?: HookEvent }> {
  const { failClosed, agent: configured } = options
  const inputOfScript = takeInput(env)
  const input = readObject(inputOfScript?.length === 0 ? undefined : inputOfScript)
  const json = typeof input === 'string' ? eventOfPatch(input) : input
  if (json === undefined) {
    const verdict = fault(options, {}, env, checkTask, 'stdin is not a JSON object')
    return { response: formatResponse(verdict, { host: configured, kind: 'pre', configured, failClosed }) }
  }
  const event = readEvent(json, { configured, name: options.event, env })
  const verdict = await orFault(options, event, env, checkTask, () =>
    judgeEvent(event, options, env, inputOfScript !== undefined),
  )
  const { host, kind } = event
  return { response: formatResponse(verdict, { host, kind, configured, failClosed }), event }
}

/** Changes the claims as the event requires, and records it if the user chose that. */
async function judgeEvent(
  event: HookEvent,
  options: HookOptions,
  env: NodeJS.ProcessEnv,
  usesPasses: boolean,
): Promise<Verdict> {
  const agent = agentProcess(event.host, env)
  // The agent starts this process before the call, so all processes of the call are younger.
  const ticks = ownIdentity().started ?? undefined
  const points = options.undo ? turnPoints(env) : undefined
  const context: HookContext = {
    store: homeStore(env),
    agent,
    env,
    ticks,
    usesPasses,
    onWait: waitSignal,
    endWait: () => endingSignals.forEach((signal) => process.removeAllListeners(signal)),
    points,
  }
  const verdict = await handleEvent(event, options, context)
  return options.record ? recordVerdict(event, verdict, options, context) : verdict
}

/** Records a verdict; a failure may change it. */
async function recordVerdict(
  event: HookEvent,
  verdict: Verdict,
  options: HookOptions,
  { agent, env }: HookContext,
): Promise<Verdict> {
  const outcome = await orFault(options, event, env, recordTask, async () => {
    // Recording is rare: its code is a file of its own, loaded only here.
    const { recordCall } = require('./hook-record.cjs') as typeof import('./record-call.ts')
    await recordCall({ event, verdict, agent, env })
    return verdict
  })
  // A refusal stands even if it could not be recorded.
  return verdict.block ? verdict : outcome
}

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A signal of the system ended the wait of a hook. */
class WaitEnded extends Error {
  constructor(readonly signal: NodeJS.Signals) {
    super(`the wait was ended by ${signal}`)
  }
}

/** Makes the signals that end a process end its wait first, so that no waiter is left. */
function waitSignal(): AbortSignal {
  // On macOS, only the title tells that this process is a hook, and no work of the session.
  process.title = waitingHookName
  const wait = new AbortController()
  for (const signal of endingSignals) process.once(signal, () => wait.abort(new WaitEnded(signal)))
  return wait.signal
}

type EventName = Partial<Pick<HookEvent, 'name' | 'sessionId'>>

async function orFault(
  options: HookOptions,
  event: EventName,
  env: NodeJS.ProcessEnv,
  task: string,
  judge: () => Promise<Verdict>,
): Promise<Verdict> {
  try {
    return await judge()
  } catch (error) {
    // The listener is gone, so the signal ends this process as it would have without a wait.
    if (error instanceof WaitEnded) process.kill(process.pid, error.signal)
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

type HookPoints = Pick<
  typeof import('../points/index.ts'),
  'pointAtGrant' | 'pointAtTurnEnd' | 'sweepAtSessionEnd' | 'takeUndoneNotices'
>

/** Takes restore points in the repositories of a session's turns. */
function turnPoints(env: NodeJS.ProcessEnv): TurnPoints {
  // The code for points is a file of its own, loaded when it is needed.
  const load = (): HookPoints => require('./hook-points.cjs') as HookPoints
  return {
    async begin(turn) {
      return await load().pointAtGrant(turnOf(turn))
    },
    async end(turn) {
      await load().pointAtTurnEnd(turnOf(turn))
    },
    undone(sessionId) {
      const notices = join(homePath(env), 'points/undone', encodeURIComponent(sessionId))
      return existsSync(notices) ? load().takeUndoneNotices(sessionId, env) : []
    },
    sweep: (turn) => load().sweepAtSessionEnd(turnOf(turn)),
  }
}

function turnOf({ root, claim, tookOver = [] }: Turn): TurnOfSession {
  const { session_id: sessionId, paths, origin } = claim
  return {
    root,
    sweepProgram: join(__dirname, 'points-sweep.cjs'),
    sessionId,
    agent: origin?.agent,
    words: origin?.prompt,
    ...(!paths.includes('**') && { paths }),
    ...(tookOver.length > 0 && {
      lastActs: Object.fromEntries(tookOver.map((lost) => [lost.session_id, lastActOf(lost)])),
    }),
  }
}

/** When a session whose turn has no end last did something; without a transcript, at its last renewal. */
function lastActOf({ origin, acquired_at, until_wall }: Claim): number {
  return transcriptTime(origin) ?? Math.max(acquired_at, until_wall - longPatienceMs)
}
