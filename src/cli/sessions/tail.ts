import { visibleJson } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import {
  followEvents,
  type Inspection,
  isVisible,
  type Pending,
  type SessionEvent,
} from '../../session/index.ts'
import { storeOption } from '../store.ts'
import { utcOption } from '../text/format.ts'
import { renderEvent } from './describe.ts'
import { openNamed } from './which-session.ts'
import { printLines } from '../terminal/print.ts'

const defaultCount = 10

export const tailCommand = defineBareCommand({
  name: 'tail',
  summary: 'The newest events of a session.',
  options: {
    lines: { type: 'count', short: 'n', value: 'N', help: `how many events (${defaultCount})` },
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
    ['stint sessions tail mine -n 100 --json', 'one JSON object a line'],
  ],
  async run({ signal, json, warn }, { options, positionals }) {
    const { id, store } = await openNamed(options.store, positionals, warn)
    const inspection = await store.inspect(id)
    const { type, all } = options
    const { state, records } = inspection.summary
    if (state === 'damaged') warn(`${id} is damaged: stint sessions verify ${id} shows where`)
    const lineOf = (event: ShownEvent): string => (json ? visibleJson(event) : renderEvent(event, options))
    // Before the newest events are read: what is left from then on is shown, once, as one of them or later.
    const old = options.follow ? await pendingIn(inspection, records) : []
    const newest = await inspection.tail(options.lines ?? defaultCount, { type, all })
    const shown = async function* (): AsyncGenerator<string> {
      for (const event of newest) yield lineOf(event)
    }
    if (!(await printLines(shown())) || !options.follow) return
    const from = Math.max(newest.findLast(({ seq }) => seq !== undefined)?.seq ?? 0, records) + 1
    const seen = new Set([...old, ...newest].flatMap(({ spool = [] }) => spool))
    const coming = async function* (): AsyncGenerator<string> {
      for await (const event of followEvents(store.driver, inspection, { from, seen, signal }))
        if (isVisible(event, type, all)) yield lineOf(event)
    }
    await printLines(coming(), { atOnce: true })
  },
})

type ShownEvent = SessionEvent | Pending<SessionEvent>

/** The events that are pending after a record. */
async function pendingIn(inspection: Inspection, after: number): Promise<ShownEvent[]> {
  const pending: ShownEvent[] = []
  for await (const event of inspection.events({ from: after + 1 }))
    if (event.seq === undefined) pending.push(event)
  return pending
}
