import { findClosest } from '../../command/parse-arguments.ts'
import type { OptionTable } from '../../command/define-command.ts'
import type { TargetName } from '../hosts/host.ts'
import { hosts, isHostName } from '../hosts/hosts.ts'
import { allPlaces, type InstallPlace } from '../install/agents.ts'
import { StintError } from '../../base/errors/stint-error.ts'

export const placeOptions = {
  user: { type: 'boolean', help: 'in your own settings, for every project' },
  project: { type: 'boolean', help: "in this project's settings, for everyone who works on it" },
  local: { type: 'boolean', help: 'in your own settings for this project (Claude Code)' },
} as const satisfies OptionTable

export const dryRunOption = {
  'dry-run': { type: 'boolean', help: 'show the changes as a diff, change nothing' },
} as const satisfies OptionTable

export const shimOption = {
  shim: { type: 'boolean', help: 'git only: a script before git on PATH, for all your repositories' },
} as const satisfies OptionTable

/** True if the shim of git is asked for, which has no other place and goes with no other agent. */
export function readShim(
  agents: readonly TargetName[],
  options: Record<InstallPlace, boolean> & { shim: boolean },
): boolean {
  const isForGit = agents.length === 1 && agents[0] === 'git' && readPlace(options) === undefined
  if (options.shim && !isForGit)
    throw new StintError('ARG_ERROR', '--shim is for git alone, and for all your repositories', {
      hint: 'Use it as `stint hook install git --shim`.',
    })
  return options.shim
}

export const agentPositionals = '[AGENT…]'

/** The place that the user asked for, if any. */
export function readPlace(options: Record<InstallPlace, boolean>): InstallPlace | undefined {
  const places = allPlaces.filter((place) => options[place])
  if (places.length > 1) throw new StintError('ARG_ERROR', `--${places.join(' and --')} exclude each other`)
  return places[0]
}

export function readAgents(words: readonly string[]): TargetName[] {
  const unknown = words.find((word) => !isHostName(word))
  if (unknown !== undefined) {
    const names = Object.keys(hosts)
    const near = findClosest(unknown.toLowerCase(), names)
    throw new StintError('ARG_ERROR', `there is no agent ${JSON.stringify(unknown)}`, {
      hint: near === undefined ? `There are ${names.join(', ')}.` : `Did you mean ${near}?`,
    })
  }
  // VS Code runs the hooks in Claude Code's settings, and has none of its own.
  return [...new Set(words.filter(isHostName).map((name) => (name === 'vscode' ? 'claude' : name)))]
}
