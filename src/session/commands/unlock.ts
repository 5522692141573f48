import { defineBareCommand } from '../../command/define-command.ts'
import { liveness } from '../../base/process/liveness.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleJson, visibleText } from '../../base/text/escape.ts'
import type { Holder, SessionStore, SessionSummary } from '../index.ts'
import { confirm } from '../../cli/terminal/print.ts'
import { storeOption } from '../../cli/store.ts'
import { formatAge } from '../../cli/text/format.ts'
import { describeHolder } from './list.ts'
import { openNamed } from './which-session.ts'

export const unlockCommand = defineBareCommand({
  name: 'unlock',
  summary:
    'Closes a session whose writer died or cannot be seen from here, such as one in another container: it is listed as closed then. If the writer is alive after all, nothing it writes from now on counts.',
  options: {
    yes: { type: 'boolean', help: 'do not ask; an exact id is never asked about' },
    ...storeOption,
  },
  positionals: 'ID',
  examples: [
    ['stint sessions unlock mine', 'recovers and closes a crashed session'],
    ['stint sessions unlock mine --yes', 'its holder gets FENCED if it is alive'],
  ],
  async run({ warn }, { options, positionals }) {
    const { id, store, isExact } = await openNamed(options.store, positionals, warn)
    const { summary } = await store.inspect(id)
    const { holder } = summary
    const isAsked = holder !== undefined && !options.yes && !isExact
    if (isAsked) {
      const question = `${id} is held by ${holderText(holder)}.\nTake it?`
      await confirm(false, 'taking a session from its holder', question)
    }
    const answer = await unlockSession(store, summary, isAsked ? holder : undefined)
    return { ...answer, unsettled: answer.unlocked ? await unsettledActs(store, id, warn) : [] }
  },
  render: ({ session_id, unlocked }) => (unlocked ? `${session_id} is closed` : `${session_id} is not held`),
})

/** Warns of each act that the writer began, and that has no outcome: it may have been performed. */
async function unsettledActs(store: SessionStore, id: string, warn: (message: string) => void) {
  try {
    const acts = await (await store.inspect(id)).unsettled()
    for (const { act, action, subject } of acts) {
      const what = subject === undefined ? '' : ` ${JSON.stringify(subject)}`
      warn(`${visibleText(`${action}${what}`, maxActLength)} has no outcome: it may have been done (${act})`)
    }
    return acts.map(({ act, action, subject }) => ({ act, action, subject: subject ?? null }))
  } catch (error) {
    // The session is closed, whatever state its audit log is in.
    warn(`the acts of ${id} without an outcome could not be read: ${errorMessage(error)}`)
    return []
  }
}

/** Characters of an act in a warning. */
const maxActLength = 200

/**
 * Takes a session from its holder and closes it. With `seen`, only from that holder: a living writer may have
 * come since.
 */
export async function unlockSession(
  store: SessionStore,
  { id, state }: SessionSummary,
  seen?: Pick<Holder, 'epoch' | 'since'>,
) {
  if (seen !== undefined) await assertStillHeldBy(store, id, seen)
  if (state === 'crashed') {
    // A resume takes nothing from a living writer that has come meanwhile.
    const session = await store.resume(id, { purpose: 'unlock' })
    await session.close()
    return unlocked(id, session.report.tookOverFrom)
  }
  const holder = await store.unlock(id)
  return holder === undefined ? { session_id: id, unlocked: false, holder: null } : unlocked(id, holder)
}

const unlocked = (id: string, holder: Holder | undefined) => ({
  session_id: id,
  unlocked: true,
  holder: holder === undefined ? null : describeHolder(holder),
})

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
