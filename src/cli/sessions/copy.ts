import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { plural } from '../text/format.ts'
import { openSessions } from './open-sessions.ts'
import { findId, idArgument } from './which-session.ts'

const options = {
  from: { type: 'string', value: 'STORE', help: 'where it is: postgres://… or files (STINT_STORE, files)' },
  to: { type: 'string', value: 'STORE', help: 'where it goes: postgres://… or files (STINT_STORE, files)' },
  id: { type: 'string', value: 'ID', help: 'the id of the copy (a new one)' },
} as const satisfies OptionTable

export const copyCommand = defineBareCommand({
  name: 'copy',
  summary:
    'Copies a closed session to another store, verified on both sides. The copy has its own id and records where it came from; the original stays.',
  options,
  positionals: 'ID',
  examples: [
    ['stint sessions copy mine --to files', 'from the server that STINT_STORE names'],
    ['stint sessions copy mine --from files', 'to the server that STINT_STORE names'],
    ['stint sessions copy mine --from files --to postgres://me@db.example/team', 'or name both'],
  ],
  async run({ warn }, { options, positionals }) {
    const { from, to, id } = options
    if (from === undefined && to === undefined)
      throw new StintError('ARG_ERROR', 'neither --from nor --to is given', {
        hint: 'Give --from or --to; the other one is STINT_STORE, or files.',
      })
    const [source, target] = [await openSessions(from, warn), await openSessions(to, warn)]
    const original = await findId(source, idArgument(positionals))
    const parcel = await source.pack(original)
    const copy = await target.unpack(parcel, id)
    const health = await (await target.store.inspect(copy)).health()
    const { journal, audit } = parcel.ends
    if (!health.ok || health.journal.head !== journal.tail || health.audit.head !== audit.tail)
      throw new StintError('JOURNAL_CORRUPT', `${copy} differs from ${original}: do not use it`)
    return {
      session_id: copy,
      store: target.store.id,
      from: { session_id: original, store: source.store.id },
      records: journal.seq,
      audit_lines: audit.seq,
    }
  },
  render: ({ session_id, store, from, records, audit_lines }) =>
    `${session_id} (${store}) is ${from.session_id} (${from.store}): ${plural(records, 'record')}, ${plural(audit_lines, 'audit line')}, verified`,
})
