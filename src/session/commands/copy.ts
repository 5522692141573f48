import { defineBareCommand } from '../../command/define-command.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { assertNameHasNoSecret, copySession } from '../index.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { plural } from '../../cli/text/format.ts'
import { findId, idArgument, openNamed } from './which-session.ts'

export const forkCommand = defineBareCommand({
  name: 'fork',
  summary:
    'Copies a session up to a record, under a new id. The original is not affected, even while it is in use.',
  options: {
    at: { type: 'count', value: 'SEQ', help: 'the last record the copy has (all)' },
    id: { type: 'string', value: 'ID', help: 'the id of the copy (a new one)' },
    title: { type: 'string', value: 'TEXT', help: 'its title (that of the original)' },
    ...storeOption,
  },
  positionals: 'ID',
  examples: [
    ['stint sessions fork mine', 'the whole session'],
    ['stint sessions fork mine --at 120 --title "try again"', 'as it was after record 120'],
  ],
  async run({ warn }, { options, positionals }) {
    const { id: from, store } = await openNamed(options.store, positionals, warn)
    const { at, id, title } = options
    const { records } = (await store.inspect(from)).summary
    const { secrets } = registerEnvironmentSecrets()
    const fork = await store.fork(from, { at, id, title, purpose: 'fork', secrets })
    const answer = { session_id: fork.id, from, records: fork.lastSeq }
    // The copy is complete without its close; the next process that opens it recovers it.
    await fork.close().catch((error: unknown) => warn(`${fork.id} was not closed: ${errorMessage(error)}`))
    if (at === undefined && fork.lastSeq < records)
      warn(`${from} is damaged after record ${fork.lastSeq}: the copy ends there`)
    return answer
  },
  render: ({ session_id, from, records }) => `${session_id} is ${from} up to record ${records}`,
})

export const copyCommand = defineBareCommand({
  name: 'copy',
  summary:
    'Copies a closed session to another store, verified on both sides. The copy has its own id and records where it came from; the original stays.',
  options: {
    from: { type: 'string', value: 'STORE', help: 'where it is: postgres://… or files (STINT_STORE, files)' },
    to: { type: 'string', value: 'STORE', help: 'where it goes: postgres://… or files (STINT_STORE, files)' },
    id: { type: 'string', value: 'ID', help: 'the id of the copy (a new one)' },
  },
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
    assertNameHasNoSecret({ id }, registerEnvironmentSecrets().gate)
    const [source, target] = [await openStore(from, warn), await openStore(to, warn)]
    const original = await findId(source, idArgument(positionals))
    const copy = await copySession(await source.medium.read(original), target.medium, Date.now(), id)
    return {
      session_id: copy.id,
      store: target.id,
      from: { session_id: original, store: source.id },
      records: copy.ends.journal.seq,
      audit_lines: copy.ends.audit.seq,
    }
  },
  render: ({ session_id, store, from, records, audit_lines }) =>
    `${session_id} (${store}) is ${from.session_id} (${from.store}): ${plural(records, 'record')}, ${plural(audit_lines, 'audit line')}, verified`,
})
