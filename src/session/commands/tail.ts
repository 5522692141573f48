import { StintError } from '../../base/errors/stint-error.ts'
import { visibleJson } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import {
  assertIntact,
  attestedBy,
  followEvents,
  type Inspection,
  isVisible,
  type SessionEvent,
} from '../index.ts'
import { storeOption } from '../../cli/store.ts'
import { utcOption } from '../../cli/text/format.ts'
import { renderEvent } from './describe.ts'
import { openNamed } from './which-session.ts'
import { printLines } from '../../cli/terminal/print.ts'

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
      for await (const event of followEvents(store.medium, inspection, { from, signal }))
        if (isVisible(event, type, all)) yield lineOf(event)
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
  const found = await health()
  assertIntact(summary.id, found)
  for (const finding of found.journal.findings) warn(finding)
}
