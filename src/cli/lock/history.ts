import { defineBareCommand } from '../../command/define-command.ts'
import { usualColumns } from '../../command/stdio.ts'
import type { ClaimActivity } from '../../lease/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatAge, formatTime, plural } from '../text/format.ts'
import { cell, table } from '../text/table.ts'
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
    session: { type: 'string', value: 'ID', help: 'only this session; the beginning of its id is enough' },
  },
  examples: [
    ['stint lock history', 'the last 20 events in the workspace you are in'],
    ['stint lock history --since 1h --session 0f5e', 'what one session did'],
  ],
  async run({ warn }, { options }) {
    const { since, session = '', lines = defaultLines } = options
    const claims = await openClaims(options, warn)
    const from = since === undefined ? 0 : (await claims.now()).wall - since
    const all = await claims.activity.read()
    const found = all.filter(({ at, session_id }) => at >= from && session_id.startsWith(session))
    return {
      ...describeTarget(claims),
      activities: lines === 0 ? [] : found.slice(-lines),
      total: found.length,
      recorded: all.length,
    }
  },
  render({ workspace, resource, activities, total, recorded }) {
    const where = visibleText(workspace ?? resource)
    if (recorded === 0) return `${where} has no history`
    if (total === 0) return `none of the ${plural(recorded, 'event')} in the history of ${where} matches`
    const detailColumns = (process.stdout.columns || usualColumns) - otherColumns
    const earlier = total - activities.length
    return [
      ...(earlier > 0 ? [`${plural(earlier, 'earlier event')}: -n ${total} shows all`] : []),
      ...table(
        ['TIME', 'EVENT', 'SESSION', 'DETAILS'],
        activities.map((each) => renderActivity(each, detailColumns)),
      ),
    ].join('\n')
  },
})

/** The columns before the details, with the widest event and a full cell for the session. */
const otherColumns = 47
const minDetailColumns = 33

const renderActivity = (activity: ClaimActivity, detailColumns: number): string[] => [
  formatTime(activity.at),
  eventNames[activity.kind],
  cell(activity.session_id, 13),
  cell(detailsOf(activity), Math.max(minDetailColumns, detailColumns)),
]

/** An activity in one line, for a reader without a terminal. */
export const activityLine = (activity: ClaimActivity): string =>
  visibleText(
    `${formatTime(activity.at)} ${activity.session_id} ${eventNames[activity.kind]} ${detailsOf(activity)}`,
  )

const eventNames: Readonly<Record<ClaimActivity['kind'], string>> = {
  grant: 'granted',
  wait: 'waits',
  refusal: 'refused',
  takeover: 'taken',
  release: 'released',
  break: 'broken',
  late: 'late call',
  note: 'left a note',
}

function detailsOf({ kind, by = '', held_ms, reason, purpose, paths, origin }: ClaimActivity): string {
  const what = paths.includes('**') ? undefined : paths.join(' ')
  const other = by.length > 13 ? `${by.slice(0, 12)}…` : by
  const side =
    { wait: `for ${other}`, late: `${other} holds it`, note: by && `for ${other}` }[kind as string] ??
    (by && `by ${other}`)
  const held = held_ms === undefined ? undefined : `after ${formatAge(held_ms)}`
  // Without a verb, the purpose would seem to be that of the other session, which stands before it.
  const verb = { wait: 'wants', refusal: 'wanted', late: 'ran' }[kind as string]
  const wish = purpose === null ? undefined : `${verb} ${JSON.stringify(purpose)}`
  const doing = verb === undefined ? (reason ?? purpose ?? origin?.agent) : wish
  return [held, side, what, doing].filter(Boolean).join(', ')
}
