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

/** What `stint init` has set up and is still there; hooks and servers only in the user's own settings. */
export async function stepsBack(workspace: string): Promise<Step[]> {
  const targets = targetsToInspect(allAgents, 'user', workspace)
  const hooks = await Promise.all(
    targets.map(async (target): Promise<Step[]> => {
      const planned = await uninstallHooks(target, true)
      if (planned.every(({ outcome }) => outcome !== 'removed')) return []
      const title = agentTitle(target.agent)
      const apply = async (): Promise<string> => {
        if (target.agent === 'codex') forgetCodexTrust(target.path)
        await uninstallHooks(target, false)
        return `${title} no longer asks`
      }
      const text = `take the hooks of ${title} out of ${shortPath(target.path)}`
      return [{ name: 'hooks', path: target.path, isDue: true, text, apply }]
    }),
  )
  return [
    ...hooks.flat(),
    ...keptIgnoredRemoval(),
    ...(await serverRemoval(workspace)),
    ...completionRemoval(),
    ...timerRemoval(),
  ]
}

function keptIgnoredRemoval(): Step[] {
  const patterns = readKeptIgnored()
  if (patterns.length === 0) return []
  const text = `stop keeping ignored files in restore points (${patterns.join(', ')})`
  const apply = async (): Promise<string> => {
    setKeptIgnored([])
    return 'ignored files are no longer kept'
  }
  return [{ name: 'points', path: keptIgnoredFile(), isDue: true, text, apply }]
}

async function serverRemoval(workspace: string): Promise<Step[]> {
  const steps = await Promise.all(
    serversToInspect([], 'user', workspace).map(async (target): Promise<Step[]> => {
      const { outcome } = await uninstallServer(target, true)
      if (outcome !== 'removed') return []
      const text = `take the MCP server out of ${shortPath(target.path)}`
      const apply = async (): Promise<string> => {
        await uninstallServer(target, false)
        return `${agentTitle(target.agent)} no longer starts it`
      }
      return [{ name: 'mcp', path: target.path, isDue: true, text, apply }]
    }),
  )
  return steps.flat()
}

function timerRemoval(): Step[] {
  const { units, crontab_line } = uninstallTimer(true)
  if (units.length === 0 && crontab_line === null) return []
  const apply = async (): Promise<string> => {
    uninstallTimer(false)
    return 'the timer is removed'
  }
  return [
    { name: 'timer', path: units[0]?.path ?? null, isDue: true, text: 'remove the hourly timer', apply },
  ]
}

/** What a user has in the home: it stays, unless the user wants it deleted. */
export async function describeData(home: string): Promise<{ text: string; bytes: number } | undefined> {
  if (!isRealDirectory(home)) return undefined
  const conversations = surveyVault(vaultDirectory(home)).agents.reduce((sum, { kept }) => sum + kept, 0)
  const { points, worktrees } = sumPoints(await readPointStores(home))
  const sessions = (await listSessionsIn(home)).length
  const { disk_bytes: bytes } = measureTree(home)
  const contents = [
    ...(conversations > 0 ? [plural(conversations, 'conversation')] : []),
    ...(points > 0 ? [`${plural(points, 'restore point')} of ${plural(worktrees, 'worktree')}`] : []),
    ...(sessions > 0 ? [plural(sessions, 'recorded session')] : []),
  ]
  return { text: [...contents, formatBytes(bytes)].join(', '), bytes }
}

/** The step that deletes the home with everything in it. Throws `LOCK_HELD` while a session works. */
export async function purgeStep(): Promise<Step[]> {
  const home = stintHome()
  const data = await describeData(home)
  if (data === undefined) return []
  return [
    {
      name: 'data',
      path: home,
      isDue: true,
      text: `delete ${shortPath(home)}: ${data.text}`,
      apply: async () => {
        await assertUnused(home)
        const [failure] = removeTree(home).failures
        if (failure !== undefined)
          throw new StintError('PARTIAL_FAILURE', `cannot delete ${failure.path}: ${failure.error}`)
        return `deleted, ${formatBytes(data.bytes)}`
      },
    },
  ]
}

/** A session that is at work would lose its records. */
async function assertUnused(home: string): Promise<void> {
  const { targets } = await claimsIn(home)
  const active = (await listSessionsIn(home)).filter(({ state }) => state === 'active' || state === 'locked')
  const held = targets.filter(({ claims, observation }) =>
    claims.some((claim) => isInForce(claim, observation)),
  )
  if (active.length === 0 && held.length === 0) return
  throw new StintError('SESSION_LOCKED', `${shortPath(home)} is in use: stint status shows by whom`, {
    hint: 'End those sessions, or wait for them, and run `stint init --remove --purge` again.',
  })
}
