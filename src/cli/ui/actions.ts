import { StintError } from '../../base/errors/stint-error.ts'
import { isCount, isString } from '../../base/text/fields.ts'
import type { ActionBodies, Answers } from '../../ui/protocol.ts'
import { breakClaim } from '../lock/end-claim.ts'
import { removeSessions } from '../sessions/rm.ts'
import { unlockSession } from '../sessions/unlock.ts'
import type { Call } from './routes.ts'
import { openSession } from './session-views.ts'
import { openKey, type UiParts } from './workspaces.ts'

type ActionName = keyof ActionBodies

/** The actions of the page. Each calls what its command calls. */
export const actions: {
  [Name in ActionName]: (
    parts: UiParts,
    body: Body,
    call: Pick<Call, 'signal'>,
  ) => Promise<Answers[`POST /api/actions/${Name}`]>
} = {
  async break(parts, body) {
    const claims = await openKey(parts, body.text('key'))
    const fence = body.count('fence')
    return await breakClaim(claims, { session_id: body.text('session_id'), fence }, body.optional('reason'))
  },
  async unlock({ store }, body) {
    const { summary } = await openSession(store, body.text('session_id'))
    const seen = { epoch: body.count('epoch'), since: body.count('since') }
    const { unlocked } = await unlockSession(store, summary, seen)
    return { session_id: summary.id, unlocked }
  },
  async close({ store }, body) {
    const { summary } = await openSession(store, body.text('session_id'))
    if (summary.state !== 'crashed') return { session_id: summary.id, closed: false }
    const { unlocked } = await unlockSession(store, summary)
    return { session_id: summary.id, closed: unlocked }
  },
  async trash({ store }, body, { signal }) {
    const { summary } = await openSession(store, body.text('session_id'))
    const trash = await removeSessions(store, [summary], signal)
    return { session_id: summary.id, trash }
  },
}

/** The body of an action; each field is checked before it is used. */
export class Body {
  readonly #given: Readonly<Record<string, unknown>>

  constructor(given: Readonly<Record<string, unknown>>) {
    this.#given = given
  }

  optional(name: string): string | undefined {
    const value = this.#given[name] ?? undefined
    if (value === undefined || isString(value)) return value
    throw new StintError('ARG_ERROR', `${name} must be a string`)
  }

  text(name: string): string {
    const value = this.optional(name)
    if (value !== undefined && value !== '') return value
    throw new StintError('ARG_ERROR', `${name} is missing`)
  }

  count(name: string): number {
    const value = this.#given[name]
    if (isCount(value)) return value
    throw new StintError('ARG_ERROR', `${name} must be a whole number`)
  }
}
