import type { OverviewData } from './overview.ts'

/** The one thing to do next, and why. */
export interface NextStep {
  /** A command line, or an action in words; null if there is nothing to do. */
  step: string | null
  why: string
}

type Overview = Omit<OverviewData, 'next'>

/** Chooses the one next step: first what does not work, then what protects, then what tidies up. */
export function chooseNext({ findings, agents, risks, left_behind }: Overview): NextStep {
  const broken = findings.find(({ level }) => level === 'fail')
  if (broken !== undefined) return { step: broken.fix, why: broken.text }
  if (agents.length === 0)
    return { step: 'stint demo', why: 'no agent was found here; the demo shows what stint does for agents' }
  const unguarded = agents.some(({ hooks }) => hooks === 'absent')
  if (unguarded || risks?.vault === false)
    return {
      step: 'stint init',
      why: 'puts hooks in, keeps restore points and conversations; `stint init --remove` takes it back',
    }
  if (agents.some(({ trust }) => trust === 'untrusted'))
    return { step: 'enter /hooks in Codex, then press t', why: 'Codex runs only hooks that you have trusted' }
  const finding = findings.find(({ fix }) => fix !== null)
  if (finding !== undefined) return { step: finding.fix, why: finding.text }
  if (risks?.agents.some(({ unkept }) => unkept > 0))
    return { step: 'stint vault sync', why: 'some conversations have no copy yet' }
  const leftovers = (left_behind?.processes.length ?? 0) + (left_behind?.files.length ?? 0)
  if (leftovers > 0)
    return {
      step: 'stint sweep --scope agents',
      why: 'shows what dead sessions left, and asks before it removes it',
    }
  return { step: null, why: 'nothing to do' }
}
