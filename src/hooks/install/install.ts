import { rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { ensureHome, ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import type { HostName } from '../hosts/host.ts'
import { agentTitle, hosts } from '../hosts/hosts.ts'
import { defaultChoices, type HookChoices } from '../options.ts'
import { type Change, installPart, ownFilePart, type SettingsPart, uninstallPart } from './change.ts'
import { installGuard, uninstallGuard } from './guard.ts'
import { shimFile } from './shim.ts'
import { ownProgram, withScript } from './own-program.ts'
import { inspect, unreadableBy } from './inspect.ts'
import { openCodePlugin } from './opencode-plugin.ts'
import { choiceFlags } from './command-text.ts'
import { hooksPart } from './edit-hooks.ts'
import type { GuardTarget, HookTarget } from './target.ts'

interface InstallOptions extends HookChoices {
  dryRun: boolean
  warn(message: string): void
}

/** Installs or updates the hooks of one target; choices that are not given stay as they are installed. */
export function installHooks(target: HookTarget, { warn, dryRun, ...given }: InstallOptions): Change[] {
  const { place, path } = target
  const inProject = place === 'project'
  const shared = target.kind === 'git' ? target.tracked : target.kind === 'settings' && inProject
  const { program: plain, warning } = ownProgram('stint-hook', shared)
  const program = withScript(target.agent, plain)
  if (warning !== undefined) warn(warning)
  // The plugin's file imports stint by a path that exists only on this machine.
  if (target.kind === 'plugin' && inProject) warn(`${path} is for this machine only: do not commit it`)
  const unused = choiceFlags(pick(given, (choice) => !isUsed(target.agent, choice)))
  if (unused.length > 0)
    warn(
      `${agentTitle(target.agent)} does not use ${unused.filter((word) => word.startsWith('--')).join(', ')}`,
    )
  const choices = withInstalled(target, given)
  if (target.kind === 'git') return installGuard(target, { choices, dryRun, program })
  if (target.kind === 'shim' && !dryRun) {
    ensureHome(stintHome())
    ensureHomeDirectory(dirname(path))
  }
  const { agent } = target
  const change = installPart({ agent, place, path }, partOf(target, { program, choices }), dryRun)
  const problem = target.kind === 'settings' ? unreadableBy(target.agent, change.after) : undefined
  if (problem !== undefined) warn(`${path}: ${problem}`)
  return [change]
}

/** What stint writes into a file; without `start`, only for removing it. */
function partOf(
  target: Exclude<HookTarget, GuardTarget>,
  start?: { program: readonly string[]; choices: HookChoices },
): SettingsPart {
  const { kind, path, place } = target
  if (kind === 'shim') return ownFilePart(shimFile, path, start)
  if (kind === 'plugin') return ownFilePart(openCodePlugin, path, start)
  return hooksPart(target.agent, start && { ...start.choices, program: start.program, place })
}

/** The given choices, and for each that is not given the installed one; none that is the default anyway. */
function withInstalled(target: HookTarget, given: HookChoices): HookChoices {
  const all = { ...inspect(target).choices, ...pick(given, (choice) => given[choice] !== undefined) }
  return pick(all, (choice) => isUsed(target.agent, choice) && all[choice] !== defaultChoices[choice])
}

const pick = (choices: HookChoices, isPicked: (choice: keyof HookChoices) => boolean): HookChoices =>
  Object.fromEntries(Object.entries(choices).filter(([name]) => isPicked(name as keyof HookChoices)))

/** True if the choice changes anything for this agent. */
function isUsed(agent: HostName, choice: keyof HookChoices): boolean {
  if (agent === 'git') return choice === 'failClosed'
  if (choice === 'subagents') return hosts[agent].subagentEnd !== undefined
  // OpenCode does not pass its plugins the words of a prompt.
  return choice !== 'prompts' || agent !== 'opencode'
}

/** Removes the hooks of one target, and nothing else. */
export function uninstallHooks(target: HookTarget, dryRun: boolean): Change[] {
  if (target.kind === 'git') return uninstallGuard(target, dryRun)
  const { agent, place, path } = target
  const change = uninstallPart({ agent, place, path }, partOf(target), dryRun)
  // The directory of the shim is stint's own; one with other files stays.
  if (target.kind === 'shim' && !dryRun) ifPossible(() => rmdirSync(dirname(path)))
  return [change]
}
