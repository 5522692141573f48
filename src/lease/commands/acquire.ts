import { defineBareCommand } from '../../command/define-command.ts'
import { defaultTtlMs, type Granted, readDescent, type WorkspaceClaims } from '../index.ts'
import { isBelowAgent } from '../../hooks/index.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { newSessionId } from '../../base/text/id.ts'
import { type Identity, identify, liveness } from '../../base/process/liveness.ts'
import { readOrigin } from '../../base/process/origin.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { formatTime, shortPath, utcOption } from '../../cli/text/format.ts'
import { announceWait } from './wait.ts'
import {
  acquireCommand,
  assertTtl,
  describeTarget,
  openClaims,
  pathOption,
  readSession,
  sessionOption,
  type TargetChoice,
  targetOptions,
} from './lock-options.ts'

export const lockAcquireCommand = defineBareCommand({
  name: 'acquire',
  summary:
    'Claims a workspace, or paths in it, for a session. Refused (exit 4) while another session holds it.',
  options: {
    ...targetOptions,
    ...sessionOption,
    path: pathOption('claim only this'),
    shared: { type: 'boolean', help: 'share the claim with other --shared claims' },
    ttl: {
      type: 'duration',
      value: 'D',
      help: 'how long the claim lasts (5m); acquiring it again renews it',
    },
    wait: {
      type: 'duration',
      value: 'D',
      help: 'how long to wait while another session holds it (not at all)',
    },
    purpose: {
      type: 'string',
      value: 'TEXT',
      help: 'what the claim is for; shown to sessions that are refused',
    },
    pid: {
      type: 'string',
      value: 'N',
      help: 'the process that the claim belongs to; the claim ends with it',
    },
    ...utcOption,
  },
  examples: [
    ['stint lock acquire --ttl 1h', 'you edit here for an hour; `stint lock release` ends it sooner'],
    ['stint lock acquire --session mine --pid $$ --wait 1m', 'for this shell; ends when it does'],
    [
      'stint lock acquire --session mine --path src/api --purpose "new routes"',
      'only a part of the workspace',
    ],
    [
      'stint lock acquire --session mine --resource deploy:prod --wait 10m',
      'something that is not a directory',
    ],
  ],
  async run({ signal, quiet, warn }, { options }) {
    const sessionId = readSession(options.session) ?? newSessionId()
    assertTtl(options.ttl)
    const claims = await openClaims(options, warn)
    const holder = readPid(options.pid)
    const isOfUser = !(await isBelowAgent())
    const request = {
      sessionId,
      holder,
      paths: claims.pathsOf(options.path, options.workspace),
      mode: options.shared ? ('shared' as const) : ('exclusive' as const),
      forMs: options.ttl ?? defaultTtlMs,
      purpose: options.purpose && registerEnvironmentSecrets().gate.text(options.purpose),
      descent: () => readDescent(holder?.pid ?? process.pid),
      origin: () => ({
        ...readOrigin(holder?.pid ?? process.pid),
        ...(isOfUser && { command: acquireCommand }),
      }),
    }
    const acquiring = claims.acquire(request, { waitMs: options.wait, signal })
    const { answer, epoch } = await announceWait(acquiring, quiet, () => claims.findBlocker(request))
    await claims.activity.written()
    if (signal.aborted) {
      await undoAcquire(claims, answer, holder).catch((error: unknown) =>
        warn(`CLEANUP_FAILED: ${sessionId} still holds ${claims.title}: ${errorMessage(error)}`),
      )
      throw signal.reason as Error
    }
    const { fence, until_wall } = answer.claim
    return {
      acquired: true,
      session_id: sessionId,
      ...describeTarget(claims),
      epoch,
      fence,
      expires_at: until_wall,
      release_command: releaseLine(isOfUser ? options : { ...options, session: sessionId }),
    }
  },
  render(
    { session_id, workspace, resource, fence, expires_at, release_command },
    { columns, verbose },
    { options },
  ) {
    const verb = options.shared ? 'share' : 'hold'
    const part = options.path.length === 0 ? '' : `${options.path.join(', ')} in `
    const target = visibleText(`${part}${shortPath(workspace ?? resource)}`)
    const time = formatTime(expires_at, options)
    const details = `session ${session_id}${verbose ? `, fence ${fence}` : ''}`
    const held = wrapLines(`You ${verb} ${target} until ${time} (${details}).`, columns)
    return `${held}\nRelease it with: ${release_command}`
  },
})

/** The command that gives up what a command line has acquired. */
const releaseLine = ({ session, workspace, resource }: TargetChoice & { session?: string }): string =>
  Object.entries({ session, workspace, resource }).reduce(
    (line, [name, value]) => (value === undefined ? line : `${line} --${name} ${shellWord(value)}`),
    'stint lock release',
  )

/** Null without --pid: the parent process is no default, as that of a command substitution ends at once. */
function readPid(text: string | undefined): Identity | null {
  if (text === undefined) return null
  if (!/^[1-9]\d{0,9}$/.test(text))
    throw new StintError('ARG_ERROR', `--pid takes a process id, not ${JSON.stringify(text)}`)
  const holder = identify(Number(text))
  if (holder !== undefined && liveness(holder) !== 'dead') return holder
  throw new StintError('NOT_FOUND', `there is no process ${text} for --pid`)
}

/** Releases a claim that this command has made: one that reports CANCELLED must not hold one. */
async function undoAcquire(
  claims: WorkspaceClaims,
  { claim, isNew }: Granted,
  holder: Identity | null,
): Promise<void> {
  if (!isNew) return
  const holders = holder === null ? undefined : [holder]
  await claims.release({ sessionId: claim.session_id, firstFence: claim.first_fence, holders })
}
