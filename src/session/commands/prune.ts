import { StintError } from '../../base/errors/stint-error.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import type { SessionSummary } from '../index.ts'
import { findWorkspace } from '../../lease/index.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { formatSpace, plural } from '../../cli/text/format.ts'
import { changeSessions } from './change-sessions.ts'

export const pruneCommand = defineBareCommand({
  name: 'prune',
  summary:
    'Says which old sessions it would move to the trash, and with --yes moves them. Sessions in use, and damaged ones, stay.',
  options: {
    keep: { type: 'count', value: 'N', help: 'the newest N stay' },
    'older-than': { type: 'duration', value: 'D', help: 'sessions with a record of the last D stay' },
    state: { type: 'string', choices: ['closed', 'crashed'], help: 'only sessions in this state' },
    workspace: { type: 'string', value: 'DIR', help: 'only those of this workspace; . is the current one' },
    tool: { type: 'string', value: 'NAME', help: 'only those of this program' },
    yes: { type: 'boolean', help: 'move them' },
    ...storeOption,
  },
  examples: [
    ['stint sessions prune --keep 100 --older-than 90d', 'what would go: changes nothing'],
    ['stint sessions prune --keep 100 --older-than 90d --yes', 'and now do it'],
    ['stint sessions prune --state crashed --older-than 30d', 'those that crashed long ago'],
  ],
  async run(context, { options }) {
    const { keep, 'older-than': olderThanMs, state, workspace, tool, yes } = options
    if (keep === undefined && olderThanMs === undefined)
      throw new StintError('ARG_ERROR', 'say what stays: --keep N, --older-than D, or both', {
        hint: 'stint sessions prune --keep 100 --older-than 90d',
      })
    const store = await openStore(options.store, context.warn)
    const filter = { tool, workspace: workspace === undefined ? undefined : findWorkspace(workspace).path }
    const listed = await store.list(filter)
    const all = listed.filter((each) => state === undefined || each.state === state)
    const old = prunable(all, { keep, olderThanMs, now: Date.now() })
    const ids = old.map(({ id }) => id)
    if (yes) await changeSessions(ids, context.signal, (id) => store.remove(id))
    return {
      sessions: ids,
      bytes: old.reduce((sum, { bytes }) => sum + bytes, 0),
      disk_bytes: old.reduce((sum, { bytes, diskBytes = bytes }) => sum + diskBytes, 0),
      kept: all.length - old.length,
      dry_run: !yes,
    }
  },
  render({ sessions, bytes, disk_bytes, kept, dry_run }) {
    const what = `${plural(sessions.length, 'session')}, ${formatSpace({ bytes, disk_bytes })}`
    if (sessions.length === 0) return `nothing to prune: ${plural(kept, 'session stays', 'sessions stay')}`
    if (!dry_run) return `moved to the trash: ${what}; ${kept} stay`
    return [...sessions, `would be moved to the trash: ${what}; ${kept} stay. --yes does it`].join('\n')
  },
})

/** The sessions that are beyond the newest `keep` and older than `olderThanMs`, at rest and intact. */
function prunable(
  sessions: readonly SessionSummary[],
  { keep = 0, olderThanMs = 0, now }: { keep?: number; olderThanMs?: number; now: number },
): SessionSummary[] {
  return sessions
    .slice(keep)
    .filter(({ lastAt, state }) => now - lastAt >= olderThanMs && (state === 'closed' || state === 'crashed'))
}
