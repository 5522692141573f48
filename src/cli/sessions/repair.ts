import { defineBareCommand } from '../../command/define-command.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { RepairPlan } from '../../session/index.ts'
import { writeOut } from '../../base/process/write-output.ts'
import { confirm } from '../terminal/confirm.ts'
import { openFilesStore } from '../store.ts'
import { findId, idArgument } from './which-session.ts'

export const repairCommand = defineBareCommand({
  name: 'repair',
  summary:
    'Makes a damaged session resumable: keeps everything before the damage and what is intact after it, and marks what is lost. The old files stay in quarantine.',
  options: {
    'dry-run': { type: 'boolean', help: 'show what would be done; change nothing' },
    yes: { type: 'boolean', help: 'do not ask' },
  },
  positionals: 'ID',
  examples: [
    ['stint sessions repair mine --dry-run', 'what would be done'],
    ['stint sessions repair mine --yes', 'do it'],
  ],
  async run({ json }, { options, positionals }) {
    const { store, files } = await openFilesStore('a repair')
    const id = await findId(store, idArgument(positionals))
    const plan = await files.planRepair(id)
    if (!plan.needed || options['dry-run']) return { repaired: false, kept: null, ...plan }
    if (!options.yes) {
      if (!json) writeOut(2, `${renderPlan(plan)}\n`)
      await confirm(false, 'a repair', 'Repair it?')
    }
    return { repaired: true, kept: null, ...(await files.repair(id)) }
  },
  render({ repaired, kept, ...plan }) {
    if (!plan.needed) return [`${plan.session_id} needs no repair`, ...plan.beyond].join('\n')
    const end = repaired
      ? `repaired; the old files are in ${kept}`
      : 'nothing was changed: this is what a repair would do'
    return `${renderPlan(plan)}\n${end}`
  },
})

function renderPlan({ session_id, findings, steps, beyond }: RepairPlan): string {
  return [
    session_id,
    ...findings.map((finding) => `  found: ${visibleText(finding)}`),
    ...steps.map((step) => `  repair: ${visibleText(step)}`),
    ...beyond.map((each) => `  beyond repair: ${visibleText(each)}`),
  ].join('\n')
}
