import { StintError } from '../../base/errors/stint-error.ts'
import { isRealDirectory } from '../../base/fs/exists.ts'
import { stintHome } from '../../base/fs/home.ts'
import { measureTree } from '../../base/fs/measure-tree.ts'
import { removeTree } from '../../base/fs/remove-tree.ts'
import { formatBytes } from '../../base/text/size.ts'
import {
  agentTitle,
  allAgents,
  forgetCodexTrust,
  targetsToInspect,
  uninstallHooks,
} from '../../hooks/index.ts'
import { serversToInspect, uninstallServer } from '../../mcp/install/install-server.ts'
import { isInForce } from '../../lease/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import { keptIgnoredFile, readKeptIgnored, setKeptIgnored } from '../../points/index.ts'
import { surveyVault, vaultDirectory } from '../../vault/index.ts'
import { claimsIn, readPointStores, sumPoints } from '../health/contents.ts'
import { uninstallTimer } from '../../sweep/commands/timer.ts'
import { plural, shortPath } from '../text/format.ts'
import { completionRemoval } from '../completion/scripts.ts'
import type { Step } from './step.ts'

/** A step that removes something that is there. */
const removal = (name: Step['name'], path: string | null, text: string, apply: () => unknown): Step => ({
  name,
  path,
  isDue: true,
  text,
  apply: async () => void (await apply()),
})

/** What `stint init` has set up and is still there; hooks and servers only in the user's own settings. */
export function stepsBack(workspace: string): Step[] {
  return [
    ...hooksRemoval(workspace),
    ...keptIgnoredRemoval(),
    ...serverRemoval(workspace),
    ...completionRemoval(),
    ...timerRemoval(),
  ]
}

function hooksRemoval(workspace: string): Step[] {
  const steps: Step[] = []
  for (const target of targetsToInspect(allAgents, 'user', workspace)) {
    const planned = uninstallHooks(target, true)
    if (planned.every(({ outcome }) => outcome !== 'removed')) continue
    const text = `take the hooks of ${agentTitle(target.agent)} out of ${shortPath(target.path)}`
    const apply = (): unknown => {
      if (target.agent === 'codex') forgetCodexTrust(target.path)
      return uninstallHooks(target, false)
    }
    steps.push(removal('hooks', target.path, text, apply))
  }
  return steps
}

function keptIgnoredRemoval(): Step[] {
  const patterns = readKeptIgnored()
  if (patterns.length === 0) return []
  const text = `stop keeping ignored files in restore points (${patterns.join(', ')})`
  return [removal('points', keptIgnoredFile(), text, () => setKeptIgnored([]))]
}

function serverRemoval(workspace: string): Step[] {
  const steps: Step[] = []
  for (const target of serversToInspect([], 'user', workspace)) {
    if (uninstallServer(target, true).outcome !== 'removed') continue
    const text = `take the MCP server out of ${shortPath(target.path)}`
    steps.push(removal('mcp', target.path, text, () => uninstallServer(target, false)))
  }
  return steps
}

function timerRemoval(): Step[] {
  const { units, crontab_line } = uninstallTimer(true)
  if (units.length === 0 && crontab_line === null) return []
  return [removal('timer', units[0]?.path ?? null, 'remove the hourly timer', () => uninstallTimer(false))]
}

/** What a user has in the home: it stays, unless the user wants it deleted. Undefined without a home. */
export async function describeData(home: string): Promise<string | undefined> {
  if (!isRealDirectory(home)) return undefined
  const conversations = surveyVault(vaultDirectory(home)).agents.reduce((sum, { kept }) => sum + kept, 0)
  const { points, worktrees } = sumPoints(await readPointStores(home))
  const sessions = (await listSessionsIn(home)).length
  const contents = [
    ...(conversations > 0 ? [plural(conversations, 'conversation')] : []),
    ...(points > 0 ? [`${plural(points, 'restore point')} of ${plural(worktrees, 'worktree')}`] : []),
    ...(sessions > 0 ? [plural(sessions, 'recorded session')] : []),
  ]
  return [...contents, formatBytes(measureTree(home).disk_bytes)].join(', ')
}

/** The step that deletes the home with everything in it. Throws `SESSION_LOCKED` while a session works. */
export async function purgeStep(): Promise<Step[]> {
  const home = stintHome()
  const data = await describeData(home)
  if (data === undefined) return []
  const apply = async (): Promise<void> => {
    await assertUnused(home)
    const [failure] = removeTree(home).failures
    if (failure !== undefined)
      throw new StintError('PARTIAL_FAILURE', `cannot delete ${failure.path}: ${failure.error}`)
  }
  return [removal('data', home, `delete ${shortPath(home)}: ${data}`, apply)]
}

/** A session that is at work would lose its records. */
async function assertUnused(home: string): Promise<void> {
  const { targets } = await claimsIn(home)
  const active = (await listSessionsIn(home)).filter(({ state }) => state === 'active' || state === 'locked')
  const heldTargets = targets.filter(({ claims, observation }) =>
    claims.some((claim) => isInForce(claim, observation)),
  )
  if (active.length === 0 && heldTargets.length === 0) return
  throw new StintError('SESSION_LOCKED', `${shortPath(home)} is in use: stint status shows by whom`, {
    hint: 'End those sessions, or wait for them, and run `stint init --remove --purge` again.',
  })
}
