import { defineBareCommand } from '../../command/define-command.ts'
import { isTerminal, writeOut } from '../../base/process/terminal.ts'
import { defaultTtlMs, holderText, readDescent, roughDuration, type WorkspaceClaims } from '../index.ts'
import { systemClock } from '../../base/process/clock.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { visibleText } from '../../base/text/escape.ts'
import { newSessionId } from '../../base/text/id.ts'
import {
  describeTarget,
  openClaims,
  pathOption,
  readSession,
  sessionOption,
  targetOptions,
} from './lock-options.ts'

export const lockWaitCommand = defineBareCommand({
  name: 'wait',
  summary:
    'Waits until no other session holds the workspace, or paths in it, and claims nothing. Still held after --timeout: exit 4.',
  options: {
    ...targetOptions,
    ...sessionOption,
    path: pathOption('wait only for this'),
    timeout: { type: 'duration', value: 'D', help: 'how long to wait at most (for ever)' },
  },
  examples: [['stint lock wait --timeout 60s', 'exit 0 as soon as it is free, 4 if it is still held']],
  async run({ signal, quiet, warn }, { options }) {
    const claims = await openClaims(options, warn)
    const request = {
      sessionId: readSession(options.session) ?? newSessionId(),
      holder: null,
      paths: claims.pathsOf(options.path, options.workspace),
      mode: 'exclusive' as const,
      forMs: defaultTtlMs,
      // An agent waits for others, not for itself.
      descent: () => readDescent(process.pid),
    }
    const startedAt = systemClock.mono()
    const waiting = claims.untilFree(request, { waitMs: options.timeout, signal })
    await announceWait(waiting, quiet, () => claims.findBlocker(request))
    return { free: true, ...describeTarget(claims), waited_ms: Math.round(systemClock.mono() - startedAt) }
  },
  render: ({ workspace, resource, waited_ms }) =>
    `${visibleText(workspace ?? resource)} is free${waited_ms < 1000 ? '' : `, after ${formatDuration(Math.round(waited_ms / 1000) * 1000)}`}`,
})

/** A shorter wait is not announced. */
const announceAfterMs = 1000

type FindBlocker = () => ReturnType<WorkspaceClaims['findBlocker']>

/** Names the session that a command waits for on a terminal, if it still waits after a second. */
export async function announceWait<Result>(
  waiting: Promise<Result>,
  quiet: boolean,
  findBlocker: FindBlocker,
): Promise<Result> {
  if (quiet) return await waiting
  const timer = setTimeout(() => void announce(findBlocker), announceAfterMs)
  try {
    return await waiting
  } finally {
    clearTimeout(timer)
  }
}

async function announce(findBlocker: FindBlocker): Promise<void> {
  try {
    if (!(await isTerminal(2))) return
    const blocker = await findBlocker()
    if (blocker === undefined) return
    const { refused, observation } = blocker
    const age = roughDuration(Math.max(0, observation.now.wall - refused.by.acquired_at))
    const line = `stint: waiting for ${holderText(refused.by, observation)}, held for ${age}`
    writeOut(2, `${visibleText(line, 500)}\n`)
  } catch {
    // The wait itself reports a failure of the register.
  }
}
