import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { visibleText } from '../../base/text/escape.ts'
import { agentTitle, allAgents, type Examined, hasAgent, loadExamination } from '../../hooks/index.ts'
import { findWorkspace } from '../../lease/index.ts'
import { createScratch } from '../../scratch/index.ts'
import { shortPath } from '../text/format.ts'
import { type Check, fail, ok, warn } from './check.ts'

export type HookHealth = Pick<
  Examined,
  'agent' | 'place' | 'path' | 'state' | 'choices' | 'problems' | 'notes' | 'wasTried'
>

interface HooksFound {
  hooks: HookHealth[]
  /** Agents that the user has, and that have no hook. */
  without: string[]
}

/**
 * Finds installed hooks and their problems. `askGit` says whether to ask git where its hooks are, which takes
 * a while. With an empty directory, `trialIn`, every hook is run as its agent would.
 */
export async function findHooks(
  workspace: string,
  { askGit = hasGitGuard(workspace), trialIn }: { askGit?: boolean; trialIn?: string } = {},
): Promise<HooksFound> {
  const { examineInstalled } = await loadExamination()
  const hooks = await examineInstalled(workspace, { askGit, trialIn })
  const agents = new Set<string>(hooks.map(({ agent }) => agent))
  return { hooks, without: allAgents.filter((agent) => !agents.has(agent) && hasAgent(agent)) }
}

/** Is our guard where git usually looks for hooks? Then git must be asked whether it looks there. */
const hasGitGuard = (workspace: string): boolean =>
  readSmallFile(join(workspace, '.git/hooks/pre-commit'))?.includes('stint') ?? false

/** Runs each installed hook as its agent would. Without a usable temp directory, hooks are only read. */
export async function tryHooks(): Promise<HooksFound> {
  const scratch = ifPossible(() => createScratch({ command: 'stint doctor' }))
  try {
    return await findHooks(findWorkspace().path, { askGit: true, trialIn: scratch?.dir('hooks') })
  } finally {
    scratch?.remove()
  }
}

export function judgeHooks({ hooks, without }: HooksFound): Check[] {
  const checks = hooks.flatMap(judgeHook)
  if (without.length > 0)
    checks.push(
      warn(
        'hooks',
        `without hooks, ${without.map(agentTitle).join(', ')} can change files that another session works on`,
        `stint hook install ${without.join(' ')}`,
      ),
    )
  return checks.length > 0 ? checks : [ok('hooks', 'no agent was found here')]
}

function judgeHook({ agent, path, problems, notes, wasTried }: HookHealth): Check[] {
  const at = `${agentTitle(agent)} (${visibleText(shortPath(path))})`
  const checks = [
    ...problems.map(({ problem, fix }) => fail('hooks', `${at}: ${visibleText(problem)}`, visibleText(fix))),
    ...notes.map(({ problem, fix }) => warn('hooks', `${at}: ${visibleText(problem)}`, visibleText(fix))),
  ]
  if (checks.length > 0) return checks
  return [ok('hooks', `${at}: ${wasTried ? 'allows and refuses calls as it should' : 'installed'}`)]
}
