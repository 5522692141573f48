import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { findAgents } from '../../agents/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { ensureHome, stintHome } from '../../base/fs/home.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import { formatBytes } from '../../base/text/size.ts'
import type { BareContext } from '../../command/context.ts'
import {
  agentTitle,
  type Change,
  type HookTarget,
  installHooks,
  targetsToInstall,
} from '../../hooks/index.ts'
import { installServer, serversToInstall } from '../../mcp/install/install-server.ts'
import { keptIgnoredFile, readKeptIgnored, setKeptIgnored } from '../../points/index.ts'
import { openVault, surveyVault, syncVault, vaultDirectory } from '../../vault/index.ts'
import { warnOnce } from '../../hooks/commands/report.ts'
import { installTimer, uninstallTimer } from '../../sweep/commands/timer.ts'
import { showWork } from '../terminal/progress.ts'
import { plural, shortPath } from '../text/format.ts'
import { completionStep } from '../completion/scripts.ts'
import type { Step } from './step.ts'

type Context = Pick<BareContext, 'warn' | 'signal' | 'quiet'>

/** The parts that `stint init` sets up only if its user asks for them. */
export interface SetupExtras {
  timer: boolean
  mcp: boolean
  /** Patterns of ignored files that restore points keep. */
  keepIgnored: readonly string[]
}

/** Everything that `stint init` sets up, in order. Throws `NOT_FOUND` if the user has no agent. */
export async function setupSteps(
  context: Context,
  workspace: string,
  { timer, mcp, keepIgnored }: SetupExtras,
): Promise<Step[]> {
  keepIgnored.forEach(checkPattern)
  const agents = findAgents(workspace).map(({ agent }) => agent)
  if (agents.length === 0)
    throw new StintError('NOT_FOUND', 'no agent was found here', {
      hint: 'Install one, such as Claude Code or Codex, and run `stint init` again; `stint demo` shows what stint does.',
    })
  const targets = targetsToInstall(agents, 'user', workspace)
  const warn = warnOnce(context.warn)
  const hooks = targets.map((target) => hooksStep(target, warn))
  return [
    ...hooks,
    pointsStep(hooks.some(({ isDue }) => isDue)),
    ...(keepIgnored.length > 0 ? [keepIgnoredStep(keepIgnored)] : []),
    vaultStep(context),
    ...completionStep(),
    ...(timer ? [timerStep()] : []),
    ...(mcp ? await serverSteps(warn, workspace) : []),
  ]
}

const isChange = ({ outcome }: Change): boolean => outcome !== 'unchanged'

function hooksStep(target: HookTarget, warn: (message: string) => void): Step {
  const title = agentTitle(target.agent)
  const step = { name: 'hooks' as const, path: target.path }
  try {
    const planned = installHooks(target, { dryRun: true, warn })
    return {
      ...step,
      isDue: planned.some(isChange),
      text: `put hooks into ${shortPath(target.path)}: ${title} asks before it changes files, and waits for its turn`,
      apply: async () => void installHooks(target, { dryRun: false, warn }),
    }
  } catch (error) {
    if (!(error instanceof StintError)) throw error
    const text = `leave ${title} without hooks: ${error.message}`
    return { ...step, isDue: true, text, apply: () => Promise.reject(error) }
  }
}

/** The hooks take the points; there is nothing else to set up. */
const pointsStep = (isDue: boolean): Step => {
  const path = join(stintHome(), 'points')
  return {
    name: 'points',
    path,
    isDue,
    text: `keep restore points of git worktrees that agents change in ${shortPath(path)}, for \`stint undo\``,
    apply: async () => {},
  }
}

/** Refuses a pattern that git cannot match against files: one would make every restore point fail. */
function checkPattern(pattern: string): void {
  const isUsable = /^[^\n\0]*[^/\n\0]$/.test(pattern) && !pattern.split('/').includes('..')
  if (isUsable) return
  throw new StintError('ARG_ERROR', `--keep-ignored ${JSON.stringify(pattern)} names no files`, {
    hint: "Give the name of files in a worktree, such as '.env*' or 'config/*.local'.",
  })
}

/** Adds to the patterns of earlier times. */
function keepIgnoredStep(wanted: readonly string[]): Step {
  const patterns = readKeptIgnored()
  const all = [...new Set([...patterns, ...wanted])]
  return {
    name: 'points',
    path: keptIgnoredFile(),
    isDue: all.length > patterns.length,
    text: `keep ignored files in restore points if their name matches ${wanted.join(' or ')}, up to 1 MiB each`,
    apply: async () => {
      ensureHome(stintHome())
      setKeptIgnored(all)
    },
  }
}

function vaultStep({ signal, quiet }: Pick<BareContext, 'signal' | 'quiet'>): Step {
  const path = vaultDirectory(stintHome())
  const { agents } = surveyVault(path)
  const conversations = agents.reduce((sum, agent) => sum + agent.new, 0)
  return {
    name: 'vault',
    path,
    isDue: !existsSync(path) || conversations > 0,
    text:
      conversations === 0
        ? `keep copies of new conversations in ${shortPath(path)}`
        : `copy ${plural(conversations, 'conversation')} into ${shortPath(path)}, and keep all new ones there`,
    apply: async () => {
      const { copied, bytes } = await showWork('copying', { signal, quiet }, (update) =>
        syncVault(openVault(), {
          signal,
          onProgress: (done, total, bytes) => update({ count: { done, total }, bytes }),
        }),
      )
      return copied === 0
        ? undefined
        : `copied ${plural(copied, 'conversation')}, ${formatBytes(bytes)}, into ${shortPath(path)}`
    },
  }
}

function timerStep(): Step {
  const { started_by, units, crontab_line } = installTimer(true)
  const isIn =
    started_by === 'systemd'
      ? units.every(({ path, text }) => readSmallFile(path) === text)
      : crontab_line !== null && uninstallTimer(true).crontab_line === crontab_line
  return {
    name: 'timer',
    path: started_by === 'systemd' ? (units[0]?.path ?? null) : null,
    isDue: !isIn,
    text: `clean up and copy conversations every hour, by ${started_by === 'systemd' ? 'a systemd timer' : 'a line in your crontab'}`,
    apply: async () => void installTimer(false),
  }
}

const serverSteps = (warn: (message: string) => void, workspace: string): Promise<Step[]> =>
  Promise.all(
    serversToInstall([], 'user', workspace).map(async (target): Promise<Step> => ({
      name: 'mcp',
      path: target.path,
      isDue: isChange(installServer(target, { dryRun: true, warn })),
      text: `add the MCP server of stint to ${shortPath(target.path)}, for ${agentTitle(target.agent)}`,
      apply: async () => void installServer(target, { dryRun: false, warn }),
    })),
  )
