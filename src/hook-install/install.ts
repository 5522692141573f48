import type { HookChoices } from '../hook/options.ts'
import type { Change } from './change.ts'
import { installGuard } from './git/guard.ts'
import { installSettings } from './settings/install-settings.ts'
import { installPlugin } from './opencode-plugin.ts'
import { isShared } from './install-scope.ts'
import { hookProgram } from './program.ts'
import { unreadBy } from './settings/strict-json.ts'
import type { Target } from './target.ts'

export interface InstallOptions extends HookChoices {
  dryRun: boolean
  warn(message: string): void
}

/** Installs the hooks in one place; doing it again changes nothing. */
export async function install(target: Target, { warn, ...options }: InstallOptions): Promise<Change[]> {
  const { place, path } = target
  const shared = target.kind === 'git' ? target.tracked : target.kind === 'settings' && isShared(place)
  const { program, warning } = hookProgram(shared)
  if (warning !== undefined) warn(warning)
  // A plugin is loaded from where it is, and only this machine has it there.
  if (target.kind === 'plugin' && isShared(place)) warn(`${path} is for this machine only: do not commit it`)
  if (target.kind === 'git') return installGuard({ directory: path, place }, { ...options, program })
  if (target.kind === 'plugin') return [await installPlugin(target, { ...options, program })]
  const change = await installSettings(target, { ...options, program })
  const unread = unreadBy(target.agent, change.after)
  if (unread !== undefined) warn(`${path}: ${unread}`)
  return [change]
}
