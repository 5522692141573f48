import { defineBareCommand } from '../../command/define-command.ts'
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
    const found = (await claims.activity.read()).filter(
      ({ at, session_id }) => at >= from && session_id.startsWith(session),
    )
    return {
      ...describeTarget(claims),
      activities: lines === 0 ? [] : found.slice(-lines),
      total: found.length,
    }
  },
  render({ workspace, resource, activities, total }) {
    if (total === 0) return `${visibleText(workspace ?? resource)} has no history`
    const earlier = total - activities.length
    return [
      ...(earlier > 0 ? [`${plural(earlier, 'earlier event')}: -n ${total} shows all`] : []),
      ...table(['TIME', 'EVENT', 'SESSION', 'DETAILS'], activities.map(renderActivity)),
    ].join('\n')
  },
})

/** With the widest event and all cells full, a row is 80 columns wide. */
const renderActivity = (activity: ClaimActivity): string[] => [
  formatTime(activity.at),
  eventNames[activity.kind],
  cell(activity.session_id, 13),
  cell(detailsOf(activity), 33),
]

const eventNames: Readonly<Record<ClaimActivity['kind'], string>> = {
  grant: 'granted',
  wait: 'waits',
  refusal: 'refused',
  takeover: 'taken',
  release: 'released',
  break: 'broken',
  late: 'late call',
}

function detailsOf({ kind, by = '', held_ms, reason, purpose, paths, origin }: ClaimActivity): string {
  const what = paths.includes('**') ? undefined : paths.join(' ')
  const other = by.length > 13 ? `${by.slice(0, 12)}…` : by
  const side = { wait: `for ${other}`, late: `${other} holds it` }[kind as string] ?? (by && `by ${other}`)
  const held = held_ms === undefined ? undefined : `after ${formatAge(held_ms)}`
  return [held, side, what, reason ?? purpose ?? origin?.agent].filter(Boolean).join(', ')
}
