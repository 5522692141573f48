import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import {
  attestedBy,
  damageFound,
  type EventOptions,
  type Inspection,
  isVisible,
} from '../../session/index.ts'
import { storeOption } from '../store.ts'
import { openNamed } from './which-session.ts'
import { printLines } from '../terminal/print.ts'

const options = {
  from: { type: 'count', value: 'SEQ', help: 'the first record (1)' },
  to: { type: 'count', value: 'SEQ', help: 'the last one' },
  type: { type: 'string', value: 'T', help: 'only events of this type' },
  all: { type: 'boolean', help: "also stint's own records: turns, slots, lost records" },
  ...storeOption,
} as const satisfies OptionTable

export const eventsCommand = defineBareCommand({
  name: 'events',
  summary: 'The events of a session, one JSON object per line, as far as the journal is intact.',
  options,
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
    const reading = new Reading(inspection, { from, to, type, all })
    if (!(await printLines(reading.lines()))) return
    await reading.assertWhole(id, store.driver.damageHint, warn)
  },
})

/** Reads the events, and knows afterwards whether records are missing. */
class Reading {
  readonly #inspection: Inspection
  readonly #options: EventOptions
  #next: number

  constructor(inspection: Inspection, options: EventOptions) {
    this.#inspection = inspection
    this.#options = options
    this.#next = options.from ?? 1
  }

  async *lines(): AsyncGenerator<string> {
    const { from, to, type, all = false } = this.#options
    for await (const event of this.#inspection.events({ from, to, all: true })) {
      this.#next = event.seq + 1
      if (isVisible(event, type, all)) yield JSON.stringify(event)
    }
  }

  /**
   * Throws if records are missing. Reading stops before the first bad record, which looks like the end: only
   * a later or an attested record shows that there was more.
   */
  async assertWhole(id: string, hint: string | undefined, warn: (message: string) => void): Promise<void> {
    const { summary, manifest } = this.#inspection
    const there = Math.max(summary.records, attestedBy(manifest).seq)
    if (this.#next > Math.min(there, this.#options.to ?? there)) return
    const health = await this.#inspection.health()
    const damage = damageFound(id, health, hint)
    if (damage !== undefined) throw damage
    for (const finding of health.journal.findings) warn(finding)
  }
}
