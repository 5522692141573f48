import { type CommandGroup, defineBareCommand } from '../../../command/define-command.ts'
import { StintError } from '../../../base/errors/stint-error.ts'
import { wrapLines } from '../../../base/text/wrap.ts'
import { auditDamage } from '../../index.ts'
import { plural } from '../../../cli/text/format.ts'
import { openProgressBar } from '../../../cli/terminal/progress.ts'
import { openNamed } from '../which-session.ts'
import { storeOption } from '../../../cli/store.ts'

const verifyCommand = defineBareCommand({
  name: 'verify',
  summary:
    'Follows the chain of an audit log from its first line to its last, and compares it with what the journal, the snapshots and the manifest attest: exit 4 if a line was changed, removed, moved or cut off.',
  options: storeOption,
  positionals: 'ID',
  examples: [['stint audit verify mine', 'prints the head of the chain: keep it somewhere else']],
  async run({ signal, quiet, warn }, { options, positionals }) {
    const { id, store } = await openNamed(options.store, positionals, warn)
    const inspection = await store.inspect(id)
    const bar = await openProgressBar('verifying', { signal, quiet })
    const health = await inspection.health((bytes) => bar?.update({ bytes })).finally(() => bar?.clear())
    const { records, head, findings, state } = health.audit
    const data = { session_id: id, lines: records, head, state, findings }
    const damage = auditDamage(id, health.audit)
    if (damage !== undefined) throw new StintError(damage.code, damage.message, { ...damage.options, data })
    for (const finding of findings) warn(finding)
    return data
  },
  render: ({ lines, head }, { columns }) =>
    wrapLines(`${plural(lines, 'line')} in an unbroken chain; its head is ${head}`, columns),
})

export const audit: CommandGroup = {
  name: 'audit',
  summary: 'What was intended and how it ended, in a hash chain that shows every change.',
  commands: {
    show: {
      summary: 'the newest acts and how they ended',
      load: async () => (await import('./show.ts')).auditShowCommand,
    },
    query: {
      summary: 'find lines by time and action',
      load: async () => (await import('./query.ts')).queryCommand,
    },
    verify: {
      summary: 'check that the chain is intact',
      load: async () => verifyCommand,
    },
  },
  examples: [
    ['stint audit show mine', 'what was done'],
    ['stint audit query mine --since 1h --action shell', 'every line of the last hour'],
    ['stint audit query --all --failed --since 7d', 'what went wrong this week, anywhere'],
    ['stint audit verify mine', 'exit 4 if a line was changed, removed, moved or cut off'],
  ],
}
