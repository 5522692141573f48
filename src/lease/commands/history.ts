import { defineBareCommand } from '../../command/define-command.ts'
import type { ClaimActivity } from '../index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatAge, formatTime, plural, utcOption } from '../../cli/text/format.ts'
import { table } from '../../cli/text/table.ts'
import { describeTarget, openClaims, targetOptions } from './lock-options.ts'

const defaultLines = 20

export const lockHistoryCommand = defineBareCommand({
  name: 'history',
  summary:
    'Who held this workspace, when and for what, and which sessions were refused; the newest at the end.',
  options: {
    ...targetOptions,
    since: { type: 'duration', value: 'D', help: 'only what happened in this time' },
    lines: { type: 'count', short: 'n', value: 'N', help: `how many of the newest (${defaultLines})` },
    session: {
      type: 'string',
      value: 'HOLDER',
      help: 'only this session; the beginning of its id is enough',
    },
    ...utcOption,
  },
  examples: [
    ['stint lock history', 'the last 20 events in the workspace you are in'],
    ['stint lock history --since 1h --session 0f5e', 'what one session did'],
  ],
  async run({ warn }, { options }) {
    const { since, session = '', lines = defaultLines } = options
    const claims = await openClaims(options, warn)
    const from = since === undefined ? 0 : (await claims.read()).observation.now.wall - since
    const all = (await claims.activity.read()).filter((activity) => claims.isHere(activity))
    const matching = all.filter(({ at, session_id }) => at >= from && session_id.startsWith(session))
    return {
      ...describeTarget(claims),
      activities: lines === 0 ? [] : matching.slice(-lines),
      total: matching.length,
      recorded: all.length,
    }
  },
  render({ workspace, resource, activities, total, recorded }, { columns }, { options }) {
    const where = visibleText(workspace ?? resource)
    if (recorded === 0) return `${where} has no history`
    if (total === 0) return `none of the ${plural(recorded, 'event')} in the history of ${where} matches`
    const earlier = total - activities.length
    return [
      ...(earlier > 0 ? [`${plural(earlier, 'earlier event')}: -n ${total} shows all`] : []),
      ...table(
        activities,
        [
          { title: 'TIME', cell: ({ at }) => formatTime(at, options) },
          { title: 'EVENT', cell: ({ kind }) => eventNames[kind] },
          { title: 'SESSION', cell: ({ session_id }) => session_id, cut: 'middle', least: 13 },
          { title: 'DETAILS', cell: detailsOf, cut: 'end', least: 33 },
        ],
        columns,
      ),
    ].join('\n')
  },
})

/** An activity in one line, for a reader without a terminal, in UTC. */
export function activityLine(activity: ClaimActivity): string {
  const { at, session_id, kind } = activity
  return visibleText(
    `${formatTime(at, { utc: true })} ${session_id} ${eventNames[kind]} ${detailsOf(activity)}`,
  )
}

const eventNames: Readonly<Record<ClaimActivity['kind'], string>> = {
  grant: 'granted',
  wait: 'waits',
  refusal: 'refused',
  takeover: 'taken',
  release: 'released',
  break: 'broken',
}

function detailsOf({ kind, by = '', held_ms, reason, purpose, paths, origin }: ClaimActivity): string {
  const what = paths.includes('**') ? undefined : paths.join(' ')
  const other = by.length > 13 ? `${by.slice(0, 12)}…` : by
  const side = kind === 'wait' ? `for ${other}` : by && `by ${other}`
  const held = held_ms === undefined ? undefined : `after ${formatAge(held_ms)}`
  // Without a verb, the purpose would seem to be that of the other session, which stands before it.
  const verb = { wait: 'wants', refusal: 'wanted' }[kind as string]
  const wish = purpose === null ? undefined : `${verb} ${JSON.stringify(purpose)}`
  const doing = verb === undefined ? (reason ?? purpose ?? origin?.agent) : wish
  return [held, side, what, doing].filter(Boolean).join(', ')
}
