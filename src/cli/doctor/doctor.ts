import { terminalPaint } from '../../command/stdio.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { type Check, countLevels, type Level } from '../health/check.ts'
import { renderCheck } from '../health/render.ts'
import { plural } from '../text/format.ts'
import { examineAll } from './examine.ts'

interface DoctorData {
  checks: Check[]
  counts: Record<Level, number>
}

export const doctorCommand = defineBareCommand({
  name: 'doctor',
  summary:
    'Checks that everything can work here: tries the file systems, and looks at permissions, clock, Node, leases, sessions, hooks, timer and PostgreSQL. Exit 4 if something cannot work.',
  examples: [
    ['stint doctor', 'a line for each check, and what to do about it'],
    ['stint doctor --json', 'for scripts'],
    ['stint doctor --quiet', 'only the exit code, and what has failed'],
  ],
  async run({ say, note }): Promise<DoctorData> {
    const checks: Check[] = []
    for await (const check of examineAll()) {
      note(`${check.name} looked at`)
      checks.push(check)
    }
    const data = { checks, counts: countLevels(checks) }
    if (data.counts.fail === 0) return data
    say(renderDoctor(data))
    const failed = [...new Set(checks.filter(({ level }) => level === 'fail').map(({ name }) => name))]
    throw new StintError('DOCTOR_FOUND', `not everything can work here: ${failed.join(', ')}`, { data })
  },
  render: renderDoctor,
})

function renderDoctor({ checks, counts }: DoctorData): string {
  const paint = terminalPaint()
  const { ok, warn, fail } = counts
  const summary = `${plural(checks.length, 'check')}: ${ok} fine, ${plural(warn, 'warning')}, ${plural(fail, 'failure')}`
  return [...checks.flatMap((check) => renderCheck(check, paint)), paint.bold(summary)].join('\n')
}
