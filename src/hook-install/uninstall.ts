import type { Change } from './change.ts'
import { uninstallGuard } from './git/guard.ts'
import { uninstallPlugin } from './opencode-plugin.ts'
import { agentHome } from './agent-home.ts'
import type { Target } from './target.ts'
import { uninstallSettings } from './settings/uninstall-settings.ts'

export interface UninstallOptions {
  dryRun: boolean
  workspace: string
}

/** Removes the hooks from one place, and nothing else. */
export async function uninstall(target: Target, { dryRun, workspace }: UninstallOptions): Promise<Change[]> {
  const { place, path } = target
  if (target.kind === 'git') return uninstallGuard({ directory: path, place }, dryRun)
  const keep = place === 'user' ? agentHome(target.agent) : workspace
  if (target.kind === 'plugin') return [await uninstallPlugin(target, { dryRun, keep })]
  return [await uninstallSettings(target, { dryRun, keep })]
}
