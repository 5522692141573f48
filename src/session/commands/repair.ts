import { defineBareCommand } from '../../command/define-command.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type RecordNumbers, type RepairedLog, repairSession } from '../index.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { plural } from '../../cli/text/format.ts'
import { findId, idArgument } from './which-session.ts'

export const repairCommand = defineBareCommand({
  name: 'repair',
  summary:
    'Copies every intact record of a damaged session into a new session, and says what is missing. The damaged one stays as it is.',
  options: { 'dry-run': { type: 'boolean', help: 'say what would be copied; make nothing' }, ...storeOption },
  positionals: 'ID',
  examples: [
    ['stint sessions repair mine --dry-run', 'what is intact, and what is missing'],
    ['stint sessions repair mine', 'copy what is intact; prints the new id'],
  ],
  async run(context, { options, positionals }) {
    const store = await openStore(options.store, context.warn)
    const { medium } = store
    const id = await findId(store, idArgument(positionals))
    const isDryRun = options['dry-run']
    const repair = await showWork('repairing', context, async () => {
      const damaged = (await medium.files?.readDamaged(id)) ?? {
        medium: await medium.read(id),
        isManifestDamaged: false,
      }
      return await repairSession(medium, damaged, { isDryRun, now: Date.now() })
    })
    return { ...repair, dry_run: isDryRun }
  },
  render({ session_id, from, manifest_damaged, journal, audit, incomplete, blobs }) {
    const what = `${plural(journal.records, 'record')} and ${plural(audit.records, 'audit line')} of ${from}`
    return [
      session_id === null ? `${what} are intact: a repair would copy them` : `${session_id} has ${what}`,
      ...(manifest_damaged ? ['  the manifest is damaged: a copy has no title, tool and workspace'] : []),
      ...renderMissing('journal', journal),
      ...renderMissing('audit log', audit),
      ...incomplete.map(
        (range) => `  journal: ${numbersOf(range)} written together with one that is missing`,
      ),
      ...blobs.map((sha256) => `  blob ${visibleText(sha256)} is missing or changed`),
      `${from} stays as it is; \`stint sessions rm ${from}\` moves it to the trash`,
    ].join('\n')
  },
})

const renderMissing = (log: string, { missing, unreadable }: RepairedLog): string[] => [
  ...missing.map((range) => `  ${log}: ${numbersOf(range)} missing`),
  ...unreadable.map(
    ({ segment, offset, bytes }) =>
      `  ${log}: ${plural(bytes, 'byte')} of ${segment} from byte ${offset} on are no record`,
  ),
]

const numbersOf = ({ from, to }: RecordNumbers): string =>
  from === to ? `record ${from} is` : `records ${from} to ${to} are`
