import type { HookChoices } from '../hook/options.ts'
import { agentHome } from './agents.ts'
import type { Change } from './change.ts'
import { installGuard, uninstallGuard } from './git/guard.ts'
import { installShim, uninstallShim } from './git/shim.ts'
import { hookProgram } from './hook-program.ts'
import { installPlugin, uninstallPlugin } from './opencode-plugin.ts'
import { installSettings, uninstallSettings } from './settings/settings-hooks.ts'
import { unreadableBy } from './settings/settings-text.ts'
import type { HookTarget } from './target.ts'

export interface InstallOptions extends HookChoices {
  dryRun: boolean
  warn(message: string): void
}

/** Installs the hooks of one target; a second time changes nothing. */
export async function installHooks(
  target: HookTarget,
  { warn, ...options }: InstallOptions,
): Promise<Change[]> {
  const { place, path } = target
  const inProject = place === 'project'
  const shared = target.kind === 'git' ? target.tracked : target.kind === 'settings' && inProject
  const { program, warning } = hookProgram(shared)
  if (warning !== undefined) warn(warning)
  // The plugin's file imports stint by a path that exists only on this machine.
  if (target.kind === 'plugin' && inProject) warn(`${path} is for this machine only: do not commit it`)
  if (target.kind === 'git') return installGuard(target, { ...options, program })
  if (target.kind === 'shim') return [await installShim(target, { ...options, program })]
  if (target.kind === 'plugin') return [await installPlugin(target, { ...options, program })]
  const change = await installSettings(target, { ...options, program })
  const problem = unreadableBy(target.agent, change.after)
  if (problem !== undefined) warn(`${path}: ${problem}`)
  return [change]
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
