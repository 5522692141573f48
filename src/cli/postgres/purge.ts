import { defineBareCommand } from '../../command/define-command.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { purge, defaultPurgeAgeMs } from '../../postgres/store/purge.ts'
import { plural } from '../text/format.ts'
import { confirm } from '../terminal/confirm.ts'
import { needServer, storeOption } from '../store.ts'
import { openPool } from './open-pool.ts'

export const purgeCommand = defineBareCommand({
  name: 'purge',
  summary:
    'Permanently deletes sessions that `stint sessions rm` has removed, and leases unused for long. Nothing else ever deletes a record; the role must be allowed to.',
  options: {
    'older-than': {
      type: 'duration',
      value: 'D',
      help: 'only sessions that were removed, and leases that were used, longer ago than this (30d)',
    },
    yes: { type: 'boolean', help: 'do not ask' },
    ...storeOption,
  },
  examples: [
    ['stint postgres purge --yes', 'sessions removed more than 30 days ago'],
    ['stint postgres purge --older-than 0s --yes', 'all removed sessions'],
  ],
  async run({ warn }, { options }) {
    const url = needServer(options.store, warn)
    const { 'older-than': olderThanMs = defaultPurgeAgeMs } = options
    const question = `Delete every session that was removed more than ${formatDuration(olderThanMs)} ago, and every lease unused since, for good?`
    await confirm(options.yes, 'a purge', question)
    return await purge({ pool: openPool(url), olderThanMs })
  },
  render: ({ sessions, records, leases }) =>
    `${plural(sessions, 'session')} deleted, with ${plural(records, 'record')}; ${plural(leases, 'unused lease')}`,
})
