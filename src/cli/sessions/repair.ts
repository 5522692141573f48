import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { systemClock } from '../../base/process/clock.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { visibleText } from '../../base/text/escape.ts'
import { previewRepair, repairSession } from '../../session/files/repair/repair.ts'
import type { RepairPlan } from '../../session/files/repair/repair-plan.ts'
import { writeOut } from '../../base/process/write-output.ts'
import { confirm } from '../terminal/confirm.ts'
import { openFiles, sessionsDirectory } from './open-sessions.ts'
import { findId, idArgument } from './which-session.ts'

const options = {
  'dry-run': { type: 'boolean', help: 'show what would be done; change nothing' },
  yes: { type: 'boolean', help: 'do not ask' },
} as const satisfies OptionTable

export const repairCommand = defineBareCommand({
  name: 'repair',
  summary:
    'Makes a damaged session resumable: keeps everything before the damage and what is intact after it, and marks what is lost. The old files stay in quarantine.',
  options,
  positionals: 'ID',
  examples: [
    ['stint sessions repair mine --dry-run', 'what would be done'],
    ['stint sessions repair mine --yes', 'do it'],
  ],
  async run({ json }, { options, positionals }) {
    const id = await findId(openFiles('a repair'), idArgument(positionals))
    const repair = { disk: nodeDisk, clock: systemClock, sessions: sessionsDirectory(), id }
    const plan = previewRepair(repair)
    if (!plan.needed || options['dry-run']) return { repaired: false, kept: null, ...plan }
    if (!options.yes) {
      if (!json) writeOut(2, `${renderPlan(plan)}\n`)
      await confirm(false, 'a repair', 'Repair it?')
    }
    return { repaired: true, kept: null, ...(await repairSession(repair)) }
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
