import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/spec.ts'
import { formatDuration } from '../../primitives/duration.ts'
import { liveness } from '../../primitives/liveness.ts'
import { visibleText } from '../../primitives/visible-text.ts'
import type { Holder } from '../../store/store.ts'
import { confirm } from './confirm.ts'
import { describeHolder } from './describe.ts'
import { findId, idArgument, openSessions, sessionOptions } from './open-store.ts'

const options = {
  yes: { type: 'boolean', help: 'do not ask' },
  ...sessionOptions,
} as const satisfies OptionTable

export const unlockCommand = defineBareCommand({
  name: 'unlock',
  summary:
    'Takes a session from a writer that cannot be seen from here, such as one in another container. If it is alive after all, nothing it writes from now on counts.',
  options,
  positionals: 'ID',
  examples: [['stint sessions unlock mine --yes', 'its holder gets FENCED if it is alive']],
  async run({ warn }, { options, positionals }) {
    const sessions = await openSessions(options.store, warn)
    const id = await findId(sessions, idArgument(positionals))
    const { store } = sessions
    const { holder } = (await store.inspect(id)).summary
    if (holder === undefined) return { session_id: id, unlocked: false, holder: null }
    await confirm(
      options.yes,
      'taking a session from its holder',
      `${id} is held by ${holderText(holder)}.\nTake it?`,
    )
    const had = await store.unlock(id)
    return {
      session_id: id,
      unlocked: had !== undefined,
      holder: had === undefined ? null : describeHolder(had),
    }
  },
  render: ({ session_id, unlocked }) => (unlocked ? `${session_id} is free` : `nobody holds ${session_id}`),
})

function holderText({ process: owner, beat, purpose }: Holder): string {
  const life = { alive: 'alive on this machine: better end it', dead: 'dead', unknown: 'out of sight' }
  const silent = formatDuration(Math.max(0, Math.floor((Date.now() - beat) / 1000) * 1000))
  const doing = purpose === undefined ? '' : `, ${JSON.stringify(visibleText(purpose))}`
  return `pid ${owner.pid}${doing} (${life[liveness(owner)]}), last heard of ${silent} ago`
}
