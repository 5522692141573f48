import { notRetryable } from '../../base/errors/stint-error.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import type { BareContext } from '../../command/context.ts'
import type {
  DriverStore,
  RecoveryReport,
  Session,
  SessionSummary,
  UnsettledAct,
} from '../../session/index.ts'
import { openStore, storeOption } from '../store.ts'
import { plural } from '../text/format.ts'
import { changeSessions } from './change-sessions.ts'
import { selectOptions, selectSessions } from './select-sessions.ts'

export const closeCommand = defineBareCommand({
  name: 'close',
  summary:
    'Closes sessions whose writer died: recovers each, says what was found, and notes it in the audit log. One that is closed already stays as it is.',
  options: { ...selectOptions, ...storeOption },
  positionals: '[ID...]',
  examples: [
    ['stint sessions close ses_01J9', 'recover it, and say what was found'],
    ['stint sessions close --state crashed --older-than 1d', 'all that crashed before today'],
  ],
  async run(context, { options, positionals }) {
    const store = await openStore(options.store, context.warn)
    const { sessions } = await selectSessions(store, positionals, options)
    return await closeSessions(store, sessions, 'sessions close', context)
  },
  render: ({ closed, unchanged }) =>
    [...closed.map(renderClosed), ...unchanged.map((id) => `${id} is closed already`)].join('\n') ||
    'no such sessions',
})

/** Recovers and closes sessions, notes each in the log of sessions, and leaves out those that are closed. */
export async function closeSessions(
  store: DriverStore,
  sessions: readonly SessionSummary[],
  command: string,
  context: Pick<BareContext, 'signal' | 'warn'>,
) {
  const line = { action: 'close', command } as const
  const { changed } = await changeSessions(store, sessions, line, context, async ({ id, state }) =>
    state === 'closed' ? undefined : await closeSession(store, id),
  )
  return {
    closed: changed,
    unchanged: sessions.filter(({ state }) => state === 'closed').map(({ id }) => id),
  }
}

/** A session that was closed, and what its recovery found. */
interface ClosedSession {
  session_id: string
  records: number
  replayed: number
  /** Torn ends that were cut off, and where they are kept. */
  cut: RecoveryReport['cut']
  /** The process that died. */
  died_pid: number | null
  /** Acts that were begun and have no outcome. */
  unsettled: Pick<UnsettledAct, 'act' | 'action' | 'subject'>[]
  broken_slots: string[]
}

async function closeSession(store: DriverStore, id: string): Promise<ClosedSession> {
  const session = await store.resume(id, { purpose: 'close' })
  try {
    return await closeResumed(session)
  } catch (error) {
    // Its line may be in the audit log.
    throw notRetryable(error)
  }
}

async function closeResumed(resumed: Session): Promise<ClosedSession> {
  await using session = resumed
  const { report } = session
  const closed = {
    session_id: session.id,
    records: session.lastSeq,
    replayed: report.replayed,
    cut: report.cut,
    died_pid: report.tookOverFrom?.process.pid ?? null,
    unsettled: session.unsettled().map(({ act, action, subject }) => ({ act, action, subject })),
    broken_slots: report.brokenSlots.map(({ ext }) => ext),
  }
  await session.audit({ action: 'close', subject: 'after its writer died', detail: closed })
  return closed
}

function renderClosed({
  session_id,
  records,
  cut,
  died_pid,
  unsettled,
  broken_slots,
}: ClosedSession): string {
  const cutBytes = cut.reduce((sum, { bytes }) => sum + bytes, 0)
  return [
    `${session_id} is closed: ${plural(records, 'record')}${died_pid === null ? '' : `; its writer, pid ${died_pid}, had died`}`,
    ...(cutBytes > 0
      ? [`  ${formatBytes(cutBytes)} of a torn end were cut off, and kept: ${cut[0]?.kept}`]
      : []),
    ...unsettled.map(({ act, action, subject }) => {
      const what = subject === undefined ? '' : ` ${JSON.stringify(subject)}`
      return `  unsettled: ${visibleText(`${action}${what}`)}, outcome unknown (${act})`
    }),
    ...broken_slots.map((ext) => `  the slot ${visibleText(ext)} cannot be read`),
  ].join('\n')
}
