import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { lstatIfExists } from '../../base/fs/exists.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { visibleText } from '../../base/text/escape.ts'
import {
  agentTargets,
  agentTitle,
  allAgents,
  type Examined,
  hasAgent,
  loadExamination,
  readSettingsFile,
} from '../../hooks/index.ts'
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
  const isWorthALook = askGit || mayHaveHooks(workspace)
  // Loaded only then: most users have no hooks.
  const { examineInstalled } = isWorthALook ? await loadExamination() : {}
  const hooks = (await examineInstalled?.(workspace, { askGit, trialIn })) ?? []
  const agents = new Set<string>(hooks.map(({ agent }) => agent))
  return { hooks, without: allAgents.filter((agent) => !agents.has(agent) && hasAgent(agent)) }
}

/** Is our guard where git usually looks for hooks? Then git must be asked whether it looks there. */
const hasGitGuard = (workspace: string): boolean =>
  readSmallFile(join(workspace, '.git/hooks/pre-commit'))?.includes('stint') ?? false

/** Most users have no hooks, and then the code that understands settings need not be loaded. */
const mayHaveHooks = (workspace: string): boolean =>
  agentTargets(workspace).some(({ path }) => mentionsStint(path))

/** True for a file that cannot be read: the closer look says why. */
const mentionsStint = (path: string): boolean =>
  ifPossible(() =>
    lstatIfExists(path) === undefined ? false : readSettingsFile(path).bytes?.includes('stint') === true,
  ) ?? true

export function judgeHooks({ hooks, without }: HooksFound): Check[] {
  const checks = hooks.flatMap(judgeHook)
  if (without.length > 0)
    checks.push(
      warn(
        'hooks',
        `nothing keeps ${without.map(agentTitle).join(', ')} from changing files that another session works on`,
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
