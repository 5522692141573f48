import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import { agentTitle } from '../../hook/hosts.ts'
import type { Change } from '../../hook-install/change.ts'
import type { HookTarget } from '../../hook-install/target.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleLines, visibleText } from '../../base/text/escape.ts'

/** The result of a command that changes hooks. */
export interface ChangesData {
  dry_run: boolean
  hooks: ChangeData[]
  failures: Failure[]
}

interface ChangeData {
  agent: string
  place: string
  path: string
  outcome: Change['outcome']
  backup?: string
  /** With --dry-run. */
  diff?: string
}

interface Failure {
  agent: string
  path: string
  code: string
  error: string
}

/** Changes the targets one by one: a broken file is reported at the end, after all others have changed. */
export async function changeEach(
  targets: readonly HookTarget[],
  { dryRun, say }: { dryRun: boolean; say: (text: string) => void },
  act: (target: HookTarget) => Promise<Change[]>,
): Promise<ChangesData> {
  const data: ChangesData = { dry_run: dryRun, hooks: [], failures: [] }
  for (const target of targets) {
    try {
      for (const change of await act(target)) data.hooks.push(described(change, dryRun))
    } catch (error) {
      if (targets.length === 1 || !(error instanceof StintError)) throw error
      data.failures.push({
        agent: target.agent,
        path: target.path,
        code: error.code,
        error: error.message,
      })
    }
  }
  if (data.failures.length === 0) return data
  if (data.hooks.length > 0) say(renderChanges(data))
  const message = data.failures.map(({ error, code }) => `${code}: ${error}`).join('; ')
  throw new StintError('PARTIAL_FAILURE', message, { data })
}

function described(
  { agent, place, path, outcome, backup, before, after }: Change,
  dryRun: boolean,
): ChangeData {
  const diff = dryRun && before !== after ? { diff: diffOf(path, before, after) } : {}
  return { agent, place, path, outcome, ...(backup && { backup }), ...diff }
}

const diffOf = (path: string, before: Buffer | undefined, after: Buffer | undefined): string =>
  createTwoFilesPatch(
    before === undefined ? '/dev/null' : path,
    after === undefined ? '/dev/null' : path,
    before?.toString() ?? '',
    after?.toString() ?? '',
    undefined,
    undefined,
    { context: 3, headerOptions: FILE_HEADERS_ONLY },
  )

const words: Record<Change['outcome'], readonly [did: string, would: string]> = {
  installed: ['installed in', 'would install in'],
  updated: ['updated in', 'would update in'],
  unchanged: ['already installed in', 'already installed in'],
  removed: ['removed from (later changes are kept)', 'would remove from (keeping later changes)'],
  restored: ['removed from', 'would remove from'],
  absent: ['no hooks in', 'no hooks in'],
}

/** Formats the changes for a person, one line per file. */
export function renderChanges({ dry_run, hooks }: ChangesData): string {
  const lines = hooks.map(({ agent, path, outcome, backup, diff }) => {
    const what = `${agentTitle(agent)}: ${words[outcome][dry_run ? 1 : 0]} ${visibleText(path)}`
    const kept = backup !== undefined && !dry_run ? ` (backup: ${visibleText(backup)})` : ''
    if (diff === undefined) return `${what}${kept}`
    // A settings file may contain control characters, which must not reach the terminal.
    return `${what}\n${visibleLines(diff.trimEnd().replaceAll('\r\n', '\n'))}`
  })
  return lines.join('\n')
}
