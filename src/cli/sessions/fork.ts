import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { storeOption } from '../store.ts'
import { openSession } from './which-session.ts'

const options = {
  at: { type: 'count', value: 'SEQ', help: 'the last record the copy has (all)' },
  id: { type: 'string', value: 'ID', help: 'the id of the copy (a new one)' },
  title: { type: 'string', value: 'TEXT', help: 'its title (that of the original)' },
  ...storeOption,
} as const satisfies OptionTable

export const forkCommand = defineBareCommand({
  name: 'fork',
  summary:
    'Copies a session up to a record, under a new id. The original is not affected, even while it is in use.',
  options,
  positionals: 'ID',
  examples: [
    ['stint sessions fork mine', 'all of it'],
    ['stint sessions fork mine --at 120 --title "try again"', 'as it was after record 120'],
  ],
  async run({ warn }, { options, positionals }) {
    const { id: from, store } = await openSession(options.store, positionals, warn)
    const { at, id, title } = options
    const { records } = (await store.inspect(from)).summary
    const fork = await store.fork(from, { at, id, title, purpose: 'fork' })
    const answer = { session_id: fork.id, from, records: fork.lastSeq }
    await fork.close()
    if (at === undefined && fork.lastSeq < records)
      warn(`${from} is damaged after record ${fork.lastSeq}: the copy ends there`)
    return answer
  },
  render: ({ session_id, from, records }) => `${session_id} is ${from} up to record ${records}`,
})
