import type { HookChoices } from '../hook/options.ts'
import { agentHome } from './agents.ts'
import type { Change } from './change.ts'
import { installGuard, uninstallGuard } from './git/guard.ts'
import { installShim, uninstallShim } from './git/shim.ts'
import { hookProgram } from './hook-program.ts'
import { inspect } from './inspect.ts'
import { installPlugin, uninstallPlugin } from './opencode-plugin.ts'
import { installSettings, uninstallSettings } from './settings/settings-hooks.ts'
import { unreadableBy } from './settings/settings-text.ts'
import type { HookTarget } from './target.ts'

export interface InstallOptions extends HookChoices {
  dryRun: boolean
  warn(message: string): void
}

/** Installs or updates the hooks of one target; choices that are not given stay as they are installed. */
export async function installHooks(
  target: HookTarget,
  { warn, dryRun, ...given }: InstallOptions,
): Promise<Change[]> {
  const { place, path } = target
  const inProject = place === 'project'
  const shared = target.kind === 'git' ? target.tracked : target.kind === 'settings' && inProject
  const { program, warning } = hookProgram(shared)
  if (warning !== undefined) warn(warning)
  // The plugin's file imports stint by a path that exists only on this machine.
  if (target.kind === 'plugin' && inProject) warn(`${path} is for this machine only: do not commit it`)
  const options = { ...withInstalled(target, given), dryRun, program }
  if (target.kind === 'git') return installGuard(target, options)
  if (target.kind === 'shim') return [await installShim(target, options)]
  if (target.kind === 'plugin') return [await installPlugin(target, options)]
  const change = await installSettings(target, options)
  const problem = unreadableBy(target.agent, change.after)
  if (problem !== undefined) warn(`${path}: ${problem}`)
  return [change]
}

/** The given choices, and for each that is not given the one that is installed. */
function withInstalled(target: HookTarget, given: HookChoices): HookChoices {
  const isGiven = ([, value]: [string, unknown]): boolean => value !== undefined
  const { waitMs, ...chosen }: HookChoices = {
    ...inspect(target).choices,
    ...Object.fromEntries(Object.entries(given).filter(isGiven)),
  }
  return waitMs ? { ...chosen, waitMs } : chosen
}

/** Removes the hooks of one target, and nothing else. */
export async function uninstallHooks(
  target: HookTarget,
  { dryRun, workspace }: { dryRun: boolean; workspace: string },
): Promise<Change[]> {
  if (target.kind === 'git') return uninstallGuard(target, dryRun)
  if (target.kind === 'shim') return [await uninstallShim(target, dryRun)]
  const keep = target.place === 'user' ? agentHome(target.agent) : workspace
  if (target.kind === 'plugin') return [await uninstallPlugin(target, { dryRun, keep })]
  return [await uninstallSettings(target, { dryRun, keep })]
}
