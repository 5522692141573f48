import { findClosest } from '../../command/did-you-mean.ts'
import type { OptionTable } from '../../command/option.ts'
import { type AgentName, hosts, isAgentName } from '../../hook/hosts.ts'
import type { Place } from '../../hook-install/install-scope.ts'
import { StintError } from '../../base/errors/stint-error.ts'

export const placeOptions = {
  user: { type: 'boolean', help: 'in your own settings, for every project' },
  project: { type: 'boolean', help: "in this project's settings, for everyone who works on it" },
  local: { type: 'boolean', help: 'in your own settings for this project (Claude Code)' },
} as const satisfies OptionTable

export const dryRunOption = {
  'dry-run': { type: 'boolean', help: 'show the changes as a diff, change nothing' },
} as const satisfies OptionTable

export const agentPositionals = '[AGENT…]'

/** The place that was asked for; undefined if none was. */
export function readPlace(options: Record<Place, boolean>): Place | undefined {
  const places = (['user', 'project', 'local'] as const).filter((place) => options[place])
  if (places.length > 1) throw new StintError('ARG_ERROR', `--${places.join(' and --')} exclude each other`)
  return places[0]
}

export function readAgents(words: readonly string[]): AgentName[] {
  const unknown = words.find((word) => !isAgentName(word))
  if (unknown !== undefined) {
    const names = Object.keys(hosts)
    const near = findClosest(unknown.toLowerCase(), names)
    throw new StintError('ARG_ERROR', `there is no agent ${JSON.stringify(unknown)}`, {
      hint: near === undefined ? `There are ${names.join(', ')}.` : `Did you mean ${near}?`,
    })
  }
  return [...new Set(words.filter(isAgentName))]
}
