import { defineBareCommand } from '../../command/define-command.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type BuiltInStore, factsOf, type Inspection } from '../index.ts'
import { formatAge, formatSpace, formatTime, plural, utcOption, type Zone } from '../../cli/text/format.ts'
import { storeOption } from '../../cli/store.ts'
import { describeSession } from './describe.ts'
import { openNamed } from './which-session.ts'

export const showCommand = defineBareCommand({
  name: 'show',
  summary: 'One session: its facts, holder, slots, acts without an outcome, and history.',
  options: { ...utcOption, ...storeOption },
  positionals: 'ID',
  examples: [
    ['stint sessions show ses_01J9', 'an id may be shortened as long as it is unique'],
    ['stint sessions show mine --json', 'with all revisions of its manifest'],
  ],
  async run({ warn }, { options, positionals }) {
    const { id, store } = await openNamed(options.store, positionals, warn)
    return await describeInspected(store, await store.inspect(id))
  },
  render: (data, _, { options }) => renderSession(data, options),
})

/** Everything about a session, as JSON answers show it. */
export async function describeInspected({ medium }: BuiltInStore, inspection: Inspection) {
  const { id } = inspection.summary
  const files = medium.files
  const slots = await inspection.slots()
  return {
    ...describeSession(inspection.summary),
    path: files?.path(id) ?? null,
    mask: factsOf(inspection.manifest).mask,
    slots: Object.entries(slots).map(([ext, { version, value }]) => ({
      ext,
      version,
      bytes: Buffer.byteLength(JSON.stringify(value) ?? ''),
    })),
    unsettled: await inspection.unsettled(),
    quarantined: files?.quarantined(id) ?? [],
    revisions: inspection.manifest.revisions,
  }
}

type Shown = Awaited<ReturnType<typeof describeInspected>>

const shownRevisions = 8
const width = 12

function renderSession(data: Shown, zone: Zone): string {
  const { holder, revisions } = data
  const rows: [string, string | undefined][] = [
    ['session', data.session_id],
    ['state', data.state],
    ['held by', holder === null ? undefined : holderText(holder)],
    ['key', data.key ?? undefined],
    ...Object.entries(data.labels).map(([name, value]): [string, string] => ['label', `${name}=${value}`]),
    ['tool', data.tool ?? undefined],
    ['title', data.title ?? undefined],
    ['workspace', data.workspace ?? undefined],
    ['masks', data.mask === 'tokens' ? 'registered secrets and tokens' : 'registered secrets'],
    ['created', formatTime(data.created_at, zone)],
    ['last record', formatTime(data.last_at, zone)],
    ['holds', `${plural(data.turns, 'turn')}, ${plural(data.records, 'record')}, ${formatSpace(data)}`],
    ...data.slots.map(({ ext, version, bytes }): [string, string] => [
      'slot',
      `${ext} (version ${version}, ${formatBytes(bytes)})`,
    ]),
    ...data.unsettled.map(({ act, at, action, subject }): [string, string] => [
      'unsettled',
      `${action} ${JSON.stringify(subject ?? '')} begun ${formatTime(at, zone)}, outcome unknown (${act})`,
    ]),
    ...data.quarantined.map((path): [string, string] => ['quarantine', path]),
    ...revisions
      .slice(-shownRevisions)
      .map(({ rev, at, kind }): [string, string] => [
        'revision',
        `${rev}  ${formatTime(Date.parse(at), zone)}  ${kind}`,
      ]),
    ['files', data.path ?? undefined],
  ]
  return rows
    .filter(([, text]) => text !== undefined)
    .map(([label, text = '']) => `${label.padEnd(width)}${visibleText(text)}`)
    .join('\n')
}

function holderText({ pid, liveness, since, kind, purpose }: NonNullable<Shown['holder']>): string {
  const age = formatAge(Date.now() - since)
  return `pid ${pid} (${liveness}), a ${kind}, for ${age}${purpose === null ? '' : `, ${JSON.stringify(purpose)}`}`
}
