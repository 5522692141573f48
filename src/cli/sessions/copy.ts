import { defineBareCommand } from '../../command/define-command.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import {
  assertNameHasNoSecret,
  copyUnusable,
  type DriverStore,
  type Health,
  type TransferDriver,
} from '../../session/index.ts'
import { openStore, storeOption } from '../store.ts'
import { plural } from '../text/format.ts'
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
    ['stint sessions fork mine', 'all of it'],
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
    const transfer = await transferOf(source).read(original)
    const copy = await transferOf(target).write(transfer, id)
    const health = await healthOf(target, copy)
    const { journal, audit } = transfer.ends
    if (!health.ok || health.journal.head !== journal.sum || health.audit.head !== audit.sum)
      throw new StintError('JOURNAL_CORRUPT', `${copy} differs from ${original}: do not use it`)
    return {
      session_id: copy,
      store: target.id,
      from: { session_id: original, store: source.id },
      records: journal.seq,
      audit_lines: audit.seq,
    }
  },
  render: ({ session_id, store, from, records, audit_lines }) =>
    `${session_id} (${store}) is ${from.session_id} (${from.store}): ${plural(records, 'record')}, ${plural(audit_lines, 'audit line')}, verified`,
})

async function healthOf({ inspect }: DriverStore, copy: string): Promise<Health> {
  try {
    return await (await inspect(copy)).health()
  } catch (error) {
    throw copyUnusable(copy, 'could not be verified', error)
  }
}

/** Both stores that the command line can name are able to transfer sessions. */
const transferOf = ({ driver }: DriverStore): TransferDriver => driver.transfer as TransferDriver
