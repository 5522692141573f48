import type { Diagnosis } from './diagnose.ts'
import { countRecords, type SeqRange, type Salvage } from './salvage.ts'

/** The plan of a repair. */
export interface RepairPlan {
  session_id: string
  /** False if there is nothing to repair. */
  needed: boolean
  /** What is wrong, what the repair does about it, and what it cannot bring back, in words. */
  findings: string[]
  steps: string[]
  beyond: string[]
  journal: LogRepair
  audit: LogRepair
  restored: { slots: string[]; turns: number }
}

export interface LogRepair {
  /** The first record that is missing or changed. */
  bad: number | null
  /** How many intact records after it are kept. */
  salvaged: number
  lost: SeqRange[]
}

/** Plans a repair from a diagnosis. */
export function planRepair(id: string, diagnosis: Diagnosis): RepairPlan {
  const { health, rewrite, restoration, manifestProblem, isDamageNoted } = diagnosis
  const findings = [
    ...(manifestProblem === undefined ? [] : [manifestProblem]),
    ...health.journal.findings.map((each) => `journal: ${each}`),
    ...health.audit.findings.map((each) => `audit log: ${each}`),
  ]
  const auditDamaged = health.audit.state === 'damaged' || rewrite.audit !== undefined
  const torn = [diagnosis.journal, diagnosis.audit].some(({ state }) => state === 'torn')
  const needed =
    manifestProblem !== undefined || rewrite.journal !== undefined || auditDamaged || torn || isDamageNoted
  const steps = [
    ...(rewrite.journal === undefined ? [] : logSteps('journal', 'record', rewrite.journal)),
    ...restoringSteps(diagnosis),
    ...(rewrite.audit === undefined ? [] : logSteps('audit log', 'line', rewrite.audit)),
    ...(auditDamaged && rewrite.audit === undefined
      ? ['note in the audit log that it is not the one that was attested']
      : []),
    ...(torn ? ['cut off the torn end, and keep it in quarantine'] : []),
    ...(manifestProblem === undefined ? [] : ['replace the manifest by one made from the journal']),
    ...(isDamageNoted && findings.length === 0
      ? ['remove the note of damage: nothing is wrong any more']
      : []),
  ]
  return {
    session_id: id,
    needed,
    findings,
    steps: steps.length === 0 ? [] : ['keep a copy of every file that changes, in quarantine', ...steps],
    beyond: health.blobs.map(
      (sha256) => `blob ${sha256} is missing or changed: only a backup can restore it`,
    ),
    journal: logRepair(rewrite.journal),
    audit: logRepair(rewrite.audit),
    restored: { slots: restoration.slots.map(({ ext }) => ext), turns: restoration.turns },
  }
}

function logSteps(log: string, unit: string, { bad, lost, lines }: Salvage): string[] {
  const after = lines.filter(({ seq }) => seq >= bad).length
  const steps = [`${log}: keep all before ${unit} ${bad}, and ${after} intact after that`]
  if (lost.length > 0)
    steps.push(
      `${log}: ${countRecords(lost)} lost (${rangesText(lost)}): each is marked as lost, so that all others keep their numbers`,
    )
  if (log === 'audit log')
    steps.push(`${log}: chain the lines after ${unit} ${bad} again; each names the hash it had`)
  return steps
}

function restoringSteps({ restoration: { slots, turns } }: Diagnosis): string[] {
  if (slots.length === 0 && turns === 0) return []
  const what = [
    ...(slots.length === 0 ? [] : [`the slots ${slots.map(({ ext }) => ext).join(', ')}`]),
    ...(turns === 0 ? [] : [`the count of ${turns} turns`]),
  ]
  return [`restore ${what.join(' and ')} from a snapshot`]
}

const logRepair = (salvage: Salvage | undefined): LogRepair => ({
  bad: salvage?.bad ?? null,
  salvaged: salvage?.lines.filter(({ seq }) => seq >= salvage.bad).length ?? 0,
  lost: salvage?.lost ?? [],
})

const shownRanges = 5

function rangesText(ranges: readonly SeqRange[]): string {
  const shown = ranges
    .slice(0, shownRanges)
    .map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`))
  return ranges.length > shownRanges ? `${shown.join(', ')}, …` : shown.join(', ')
}
