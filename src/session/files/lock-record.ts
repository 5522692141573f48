import { parsePosition } from '../log/log-end.ts'
import { ulid } from '../../base/text/id.ts'
import type { Liveness } from '../../base/process/liveness.ts'
import { holderStanding, type LockStanding, parseHolder } from '../holder.ts'
import type { Holder } from '../store.ts'
import type { LogPositions } from './logs.ts'

/** What the lock of a session says. */
export interface SessionLockRecord {
  /** Undefined once it was released. */
  holder: Holder | undefined
  /** The epoch with which its writer marks what it writes. */
  epoch: number
  /** How it was left by a writer that released it. */
  ends: LogPositions | undefined
}

/** Over plain data: may a session with this lock be taken? */
export function lockStanding(
  record: SessionLockRecord | undefined,
  now: number,
  alive: (holder: Holder) => Liveness,
): LockStanding {
  if (record === undefined) return 'never'
  // Without its ends nobody has closed it.
  if (record.holder === undefined) return record.ends === undefined ? 'dead' : 'released'
  return holderStanding(record.holder, alive(record.holder), now)
}

/** No two texts are alike: by its text an epoch of the register is known again. */
export const formatLockRecord = (session: string, { holder, epoch, ends }: SessionLockRecord): string =>
  JSON.stringify({ schema_version: 1, session_id: session, nonce: ulid(), epoch, holder, ends })

/** A text that makes no sense was torn by a power cut: nobody holds the lock, but it was not released either. */
export function parseLockRecord(
  text: string | undefined,
  registerEpoch: number,
): SessionLockRecord | undefined {
  if (text === undefined) return undefined
  const unclear: SessionLockRecord = { holder: lostHolder, epoch: registerEpoch, ends: undefined }
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text) as Record<string, unknown>
  } catch {
    return unclear
  }
  if (typeof value !== 'object' || value === null || !isEpoch(value.epoch)) return unclear
  const { epoch } = value
  if (value.holder === undefined) return { holder: undefined, epoch, ends: parseEnds(value.ends) }
  const holder = parseHolder(value.holder, epoch)
  return holder === undefined ? unclear : { holder, epoch, ends: undefined }
}

/** One that the name of a segment can have, and the next one, too. */
export const isEpoch = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 999_999_999_999_999

function parseEnds(value: unknown): LogPositions | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { journal, audit } = value as Record<string, unknown>
  const [one, other] = [parsePosition(journal), parsePosition(audit)]
  return one === undefined || other === undefined ? undefined : { journal: one, audit: other }
}

/** Stands for a holder that nobody can name any more. Its life cannot be seen, and it was silent since the epoch. */
const lostHolder: Holder = {
  process: { pid: 0x7fffffff, started: 0, boot: '', host: '', pidns: '', timens: '' },
  since: 0,
  beat: 0,
  kind: 'writer',
  epoch: 0,
}
