import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { agentTitle } from '../../hook/hosts.ts'
import { allAgents, hasAgent } from '../../hook-install/agents.ts'
import type { Finding } from '../../hook-install/doctor/examine.ts'
import type { Installation } from '../../hook-install/inspect.ts'
import { readSettingsFile } from '../../hook-install/settings/settings-file.ts'
import { agentTargets } from '../../hook-install/target.ts'
import { hasEntries } from '../../base/fs/exists.ts'
import { stintHome } from '../../base/fs/home.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { visibleText } from '../../base/text/escape.ts'
import { bad, type Check, fine, poor } from './check.ts'

export type HookHealth = Pick<Installation, 'agent' | 'place' | 'path' | 'state'> & Finding

export interface HooksFound {
  hooks: HookHealth[]
  /** Agents that the user has, and that have no hook. */
  without: string[]
}

/** What of ours is installed, and what is wrong with it; without starting any of it. `askGit`: it must be asked where its hooks are, which takes a while. */
export async function lookAtHooks(
  workspace: string,
  askGit: boolean = hasGuard(workspace),
): Promise<HooksFound> {
  const hooks =
    askGit || mayHaveHooks(workspace)
      ? (await import('./inspect-hooks.ts')).inspectHooks(workspace, askGit)
      : []
  const has = new Set<string>(hooks.map(({ agent }) => agent))
  return { hooks, without: allAgents.filter((agent) => !has.has(agent) && hasAgent(agent)) }
}

/** Is there a guard of ours where git usually looks? Then git knows whether it does. */
const hasGuard = (workspace: string): boolean =>
  readSmallFile(join(workspace, '.git/hooks/pre-commit'))?.includes('stint') ?? false

/** Have we ever installed any, or does a file name us? Most have not, and need not load what understands settings. */
const mayHaveHooks = (workspace: string): boolean =>
  hasRecords() || agentTargets(workspace).some(({ path }) => namesUs(path))

/** In a home that cannot be, nobody can tell; what is wrong with it, whoever looks at it will say. */
function hasRecords(): boolean {
  try {
    return hasEntries(join(stintHome(), 'hooks'))
  } catch {
    return true
  }
}

function namesUs(path: string): boolean {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false
  try {
    return readSettingsFile(path).bytes?.includes('stint') ?? false
  } catch {
    // Whoever inspects it will say what is wrong.
    return true
  }
}

export function judgeHooks({ hooks, without }: HooksFound): Check[] {
  const checks = hooks.flatMap(judgeHook)
  if (without.length > 0)
    checks.push(
      poor(
        'hooks',
        `nothing keeps ${without.map(agentTitle).join(', ')} from changing files that another session works on`,
        `stint hook install ${without.join(' ')}`,
      ),
    )
  return checks.length > 0 ? checks : [fine('hooks', 'no agent was found here')]
}

function judgeHook({ agent, path, problems, notes }: HookHealth): Check[] {
  const at = `${agentTitle(agent)} (${visibleText(path, 2000)})`
  const told = [
    ...problems.map(({ problem, fix }) => bad('hooks', `${at}: ${visibleText(problem)}`, visibleText(fix))),
    ...notes.map(({ problem, fix }) => poor('hooks', `${at}: ${visibleText(problem)}`, visibleText(fix))),
  ]
  return told.length > 0 ? told : [fine('hooks', `${at}: installed; \`stint hook doctor\` tries it out`)]
}
