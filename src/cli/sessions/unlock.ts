import { defineBareCommand } from '../../command/define-command.ts'
import { liveness } from '../../base/process/liveness.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleJson } from '../../base/text/escape.ts'
import type { BareContext } from '../../command/context.ts'
import type { DriverStore, Holder, SessionStore, SessionSummary } from '../../session/index.ts'
import { confirm } from '../terminal/confirm.ts'
import { storeOption } from '../store.ts'
import { formatAge } from '../text/format.ts'
import { changeSessions } from './change-sessions.ts'
import { describeHolder } from './describe.ts'
import { openNamed } from './which-session.ts'

export const unlockCommand = defineBareCommand({
  name: 'unlock',
  summary:
    'Takes a session from a writer that cannot be seen from here, such as one in another container. If it is alive after all, nothing it writes from now on counts.',
  options: {
    yes: { type: 'boolean', help: 'do not ask; an exact id is never asked about' },
    ...storeOption,
  },
  positionals: 'ID',
  examples: [['stint sessions unlock mine --yes', 'its holder gets FENCED if it is alive']],
  async run(context, { options, positionals }) {
    const { id, store, isExact } = await openNamed(options.store, positionals, context.warn)
    const { summary } = await store.inspect(id)
    const { holder } = summary
    const isAsked = holder !== undefined && !options.yes && !isExact
    if (isAsked) {
      const question = `${id} is held by ${holderText(holder)}.\nTake it?`
      await confirm(false, 'taking a session from its holder', question)
    }
    return await unlockSession(store, summary, 'sessions unlock', context, isAsked ? holder : undefined)
  },
  render: ({ session_id, unlocked }) => (unlocked ? `${session_id} is free` : `${session_id} is not held`),
})

/**
 * Takes a session from its holder, and notes that in the log of sessions. With `seen`, only from that one: a
 * living writer may have come since.
 */
export async function unlockSession(
  store: DriverStore,
  summary: SessionSummary,
  command: string,
  context: Pick<BareContext, 'signal' | 'warn'>,
  seen?: Pick<Holder, 'epoch' | 'since'>,
) {
  const { changed } = await changeSessions(
    store,
    [summary],
    { action: 'unlock', command },
    context,
    async ({ id }) => {
      if (seen !== undefined) await assertStillHeldBy(store, id, seen)
      const had = await store.unlock(id)
      return had === undefined ? undefined : { session_id: id, unlocked: true, holder: describeHolder(had) }
    },
  )
  return changed[0] ?? { session_id: summary.id, unlocked: false, holder: null }
}

async function assertStillHeldBy(
  store: SessionStore,
  id: string,
  { epoch, since }: Pick<Holder, 'epoch' | 'since'>,
): Promise<void> {
  const { holder } = (await store.inspect(id)).summary
  if (holder === undefined || (holder.epoch === epoch && holder.since === since)) return
  throw new StintError(
    'SESSION_LOCKED',
    `${id} is held by another process now: ${holderText(holder)}; nothing was taken`,
    { hint: 'Look at it with `stint sessions show` before you take it.' },
  )
}

function holderText({ process: owner, beat, purpose }: Holder): string {
  const life = { alive: 'alive on this machine: better end it', dead: 'dead', unknown: 'out of sight' }
  const silent = formatAge(Date.now() - beat)
  const doing = purpose === undefined ? '' : `, ${visibleJson(purpose)}`
  return `pid ${owner.pid}${doing} (${life[liveness(owner)]}), last heard of ${silent} ago`
}
