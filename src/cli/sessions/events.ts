import { visibleJson } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { assertIntact, attestedBy, isVisible } from '../../session/index.ts'
import { storeOption } from '../store.ts'
import { openNamed } from './which-session.ts'
import { printLines } from '../terminal/print.ts'

export const eventsCommand = defineBareCommand({
  name: 'events',
  summary: 'The events of a session, one JSON object per line, as far as the journal is intact.',
  options: {
    from: { type: 'count', value: 'SEQ', help: 'the first record (1)' },
    to: { type: 'count', value: 'SEQ', help: 'the last one' },
    type: { type: 'string', value: 'T', help: 'only events of this type' },
    all: { type: 'boolean', help: "also stint's own records: turns, slots, lost records" },
    ...storeOption,
  },
  positionals: 'ID',
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint sessions events mine', 'all of them'],
    ['stint sessions events mine --type message | jq -r .data.text', 'what was said'],
    ['stint sessions events mine --from 100 --to 200', 'a part'],
  ],
  async run({ warn }, { options, positionals }) {
    const { id, store } = await openNamed(options.store, positionals, warn)
    const inspection = await store.inspect(id)
    const { from, to, type, all } = options
    let next = from ?? 1
    const lines = async function* (): AsyncGenerator<string> {
      for await (const event of inspection.events({ from, to, all: true })) {
        if (event.seq !== undefined) next = event.seq + 1
        if (isVisible(event, type, all)) yield visibleJson(event)
      }
    }
    if (!(await printLines(lines()))) return
    // Reading stops before the first bad record, which looks like the end: only a later or an attested record
    // shows that there was more.
    const there = Math.max(inspection.summary.records, attestedBy(inspection.manifest).seq)
    if (next > Math.min(there, to ?? there)) return
    const health = await inspection.health()
    assertIntact(id, health, store.driver.damageHint)
    for (const finding of health.journal.findings) warn(finding)
  },
})
