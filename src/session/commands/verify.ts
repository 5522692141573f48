import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { openProgressBar, showWork } from '../../cli/terminal/progress.ts'
import { plural } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import {
  type BuiltInStore,
  damageFound,
  type Health,
  type RecordNumbers,
  type RepairedLog,
  repairSession,
} from '../index.ts'
import { findId, idArgument } from './which-session.ts'

interface Verified {
  session_id: string
  state: 'whole' | 'torn' | 'damaged'
  findings: string[]
  health: Health | null
}

/** The codes of an error that is damage. Others say nothing about the records of a session. */
const damageCodes = new Set<string>(['JOURNAL_CORRUPT', 'AUDIT_CORRUPT', 'BLOB_MISSING'])

export const verifyCommand = defineBareCommand({
  name: 'verify',
  summary:
    'Reads every record, every line of the audit log and every blob: exit 4 if anything is missing or changed.',
  options: {
    all: { type: 'boolean', help: 'every session' },
    ...storeOption,
  },
  positionals: '[ID]',
  examples: [
    ['stint sessions verify mine', 'one session'],
    ['stint sessions verify --all', 'all of them'],
  ],
  async run({ signal, quiet, say, warn }, { options, positionals }) {
    const store = await openStore(options.store, warn)
    const { all } = options
    const ids = await idsToVerify(store, all, positionals)
    const bar = await openProgressBar('verifying', { signal, quiet })
    const sessions: Verified[] = []
    let error: StintError | undefined
    try {
      for (const [done, id] of ids.entries()) {
        if (signal.aborted) break
        try {
          const result = await verifyOne(store, id, (bytes) =>
            bar?.update({ count: all ? { done, total: ids.length } : undefined, bytes }),
          )
          sessions.push(result.verified)
          error ??= result.error
        } catch (failure) {
          const code = errorCode(failure)
          // With --all, a session that was removed meanwhile is skipped, and one of another store, too.
          if (!all || (code !== 'NOT_FOUND' && code !== 'RESUME_MISMATCH')) throw failure
          if (code === 'RESUME_MISMATCH') warn(`not verified: ${errorMessage(failure)} (${code})`)
        }
        // Let a signal be handled before the next session.
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      bar?.clear()
    }
    const damaged = sessions.filter(({ state }) => state === 'damaged').length
    const data = { checked: sessions.length, damaged, sessions }
    if (error === undefined) return data
    say(renderVerified(sessions))
    throw new StintError(error.code, error.message, { ...error.options, data })
  },
  render: ({ sessions, checked }) =>
    `${renderVerified(sessions)}\n${plural(checked, 'session')} in order`.trim(),
})

async function idsToVerify(
  store: BuiltInStore,
  all: boolean,
  positionals: readonly string[],
): Promise<string[]> {
  if (!all) return [await findId(store, idArgument(positionals))]
  if (positionals.length > 0) throw new StintError('ARG_ERROR', '--all takes no id')
  return await store.medium.ids('')
}

/** Verifies one session. Throws what is not damage: `NOT_FOUND`, `RESUME_MISMATCH`, a server that is away. */
async function verifyOne(
  store: BuiltInStore,
  id: string,
  onBytes: (done: number) => void,
): Promise<{ verified: Verified; error?: StintError }> {
  try {
    const inspection = await store.inspect(id)
    let health = await inspection.health(onBytes)
    // While a process writes, the first read may see half of a group. Damage shows in a second read, too.
    if (damageFound(id, health) !== undefined) health = await inspection.health(onBytes)
    const error = damageFound(id, health)
    if (error !== undefined) await store.medium.noteDamage(id, error.message)
    const findings = [
      ...health.journal.findings,
      ...health.audit.findings,
      ...health.blobs.map((sha256) => `blob ${sha256}`),
    ]
    const torn = [health.journal, health.audit].some(({ state }) => state === 'torn')
    const state = error !== undefined ? 'damaged' : torn ? 'torn' : 'whole'
    return { verified: { session_id: id, state, findings, health }, error }
  } catch (error) {
    if (!(error instanceof StintError) || !damageCodes.has(error.code)) throw error
    return { verified: { session_id: id, state: 'damaged', findings: [error.message], health: null }, error }
  }
}

const renderVerified = (sessions: readonly Verified[]): string =>
  sessions
    .filter(({ findings }) => findings.length > 0)
    .flatMap(({ session_id, state, findings }) => [
      `${session_id}: ${state}`,
      ...findings.map((finding) => `  ${visibleText(finding)}`),
    ])
    .join('\n')

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
  render({ session_id, from, manifest_damaged, journal, audit, blobs }) {
    const what = `${plural(journal.records, 'record')} and ${plural(audit.records, 'audit line')} of ${from}`
    return [
      session_id === null ? `${what} are intact: a repair would copy them` : `${session_id} has ${what}`,
      ...(manifest_damaged ? ['  the manifest is damaged: a copy has no title, tool or other facts'] : []),
      ...renderMissing('journal', journal),
      ...renderMissing('audit log', audit),
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
