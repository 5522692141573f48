import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'
import type { BareContext } from '../../command/context.ts'
import { agentTitle } from '../hosts/hosts.ts'
import type { Change } from '../install/change.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleLines, visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { plural, shortPath } from '../../cli/text/format.ts'

/** The result of a command that changes hooks, or the servers of agents; `List` names the changes. */
export type ChangesData<List extends string> = Record<List, ChangeData[]> & {
  dry_run: boolean
  failures: Failure[]
}

interface ChangeData {
  agent: string
  place: string
  path: string
  outcome: Change['outcome']
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
export function changeEach<Target extends { agent: string; path: string }, List extends string>(
  targets: readonly Target[],
  { list, dryRun, say, screen }: { list: List; dryRun: boolean } & Pick<BareContext, 'say' | 'screen'>,
  act: (target: Target) => Change[],
): ChangesData<List> {
  const changes: ChangeData[] = []
  const failures: Failure[] = []
  for (const target of targets) {
    try {
      for (const change of act(target)) changes.push(describeChange(change, dryRun))
    } catch (error) {
      if (targets.length === 1 || !(error instanceof StintError)) throw error
      failures.push({ agent: target.agent, path: target.path, code: error.code, error: error.message })
    }
  }
  const data = { dry_run: dryRun, [list]: changes, failures } as ChangesData<List>
  if (failures.length === 0) return data
  if (changes.length > 0) say(renderChanges(changes, dryRun, screen.columns))
  const message = failures.map(({ error, code }) => `${code}: ${error}`).join('; ')
  throw new StintError('PARTIAL_FAILURE', message, { data })
}

function describeChange({ agent, place, path, outcome, before, after }: Change, dryRun: boolean): ChangeData {
  const diff = dryRun && before !== after ? { diff: diffOf(path, before, after) } : {}
  return { agent, place, path, outcome, ...diff }
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
  removed: ['removed from', 'would remove from'],
  absent: ['nothing of stint in', 'nothing of stint in'],
}

/** Formats the changes: a line for each file, the diffs of a dry run, and the steps left to the user. */
export function renderChanges(
  changes: readonly ChangeData[],
  dryRun: boolean,
  columns: number,
  next: readonly string[] = [],
): string {
  const lines = changes.map(({ agent, path, outcome, diff }) => {
    const what = `${agentTitle(agent)}: ${words[outcome][dryRun ? 1 : 0]} ${visibleText(shortPath(path))}`
    const line = wrapLines(what, columns)
    return diff === undefined ? line : `${line}\n${renderDiff(diff)}`
  })
  const changedFiles = changes.filter(({ diff }) => diff !== undefined).length
  const summary = dryRun ? [`nothing was changed; ${plural(changedFiles, 'file')} would be`] : []
  return [...lines, ...summary, ...next.map((step) => wrapLines(step, columns))].join('\n')
}

/** A settings file may contain control characters, which must not reach the terminal. */
const renderDiff = (diff: string): string => visibleLines(diff.trimEnd().replaceAll('\r\n', '\n'))

/** Says each warning once, however many files it is about. */
export function warnOnce(warn: (message: string) => void): (message: string) => void {
  const warned = new Set<string>()
  return (message) => {
    if (!warned.has(message)) warn(message)
    warned.add(message)
  }
}
