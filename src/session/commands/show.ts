import { StintError } from '../../base/errors/stint-error.ts'
import { visibleJson, visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { storeOption } from '../../cli/store.ts'
import { printLines } from '../../cli/terminal/print.ts'
import { formatAge, formatSpace, formatTime, plural, utcOption, type Zone } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import {
  assertIntact,
  attestedBy,
  type BuiltInStore,
  factsOf,
  type Inspection,
  isVisible,
  type SessionEvent,
} from '../index.ts'
import { describeSession, renderEvent } from './list.ts'
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
    ['holds', `${plural(data.records, 'record')}, ${formatSpace(data)}`],
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

const defaultCount = 10

export const tailCommand = defineBareCommand({
  name: 'tail',
  summary: 'The newest events of a session, or all of them, as far as the journal is intact.',
  options: {
    lines: { type: 'string', short: 'n', value: 'N', help: `how many events, or all (${defaultCount})` },
    follow: { type: 'boolean', short: 'f', help: 'follow what is written, until stopped' },
    type: { type: 'string', value: 'T', help: 'only events of this type' },
    all: { type: 'boolean', help: "also stint's own records: turns and slots" },
    ...utcOption,
    ...storeOption,
  },
  positionals: 'ID',
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint sessions tail mine', 'the last ten'],
    ['stint sessions tail mine -f -n 0', 'only what comes from now on'],
    ['stint sessions tail mine -n all --json', 'every event, one JSON object a line'],
    ['stint sessions tail mine -n all --json --type message | jq -r .data.text', 'what was said'],
  ],
  async run({ signal, json, warn }, { options, positionals }) {
    const count = parseCount(options.lines)
    const { id, store } = await openNamed(options.store, positionals, warn)
    const inspection = await store.inspect(id)
    const { type, all, follow } = options
    const { state, records } = inspection.summary
    if (state === 'damaged') warn(`${id} is damaged: stint sessions verify ${id} shows where`)
    const lineOf = (event: SessionEvent): string => (json ? visibleJson(event) : renderEvent(event, options))
    let last = 0
    const recorded = async function* (): AsyncGenerator<string> {
      const events =
        count === 'all' ? inspection.events({ all: true }) : await inspection.tail(count, { type, all })
      for await (const event of events) {
        last = event.seq
        if (isVisible(event, type, all)) yield lineOf(event)
      }
    }
    if (!(await printLines(recorded()))) return
    if (count === 'all') await assertAllRead(inspection, last, warn)
    if (!follow) return
    const from = Math.max(last, records) + 1
    const coming = async function* (): AsyncGenerator<string> {
      for await (const event of store.follow(id, { from, type, all, signal })) yield lineOf(event)
    }
    await printLines(coming(), { atOnce: true })
  },
})

function parseCount(text: string | undefined): number | 'all' {
  if (text === undefined) return defaultCount
  if (text === 'all') return text
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new StintError('ARG_ERROR', `--lines must be a whole number or all, not ${visibleJson(text)}`, {
    hint: 'Write it as 0, 7, 5000 or all.',
  })
}

/**
 * Reading stops before the first bad record, which looks like the end: only a later or an attested record
 * shows that there was more.
 */
async function assertAllRead(
  { summary, manifest, health }: Inspection,
  last: number,
  warn: (message: string) => void,
): Promise<void> {
  if (last >= Math.max(summary.records, attestedBy(manifest).seq)) return
  const verified = await health()
  assertIntact(summary.id, verified)
  for (const finding of verified.journal.findings) warn(finding)
}
