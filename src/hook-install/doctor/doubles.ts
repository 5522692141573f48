import { agentTitle } from '../../hook/hosts.ts'
import { allPlaces, settingsPath } from '../agents.ts'
import { inspect, type Installation } from '../inspect.ts'
import { objectOr } from '../json/parse.ts'
import { targetsToInspect } from '../target.ts'
import type { Problem } from './examine.ts'
import { readSettingsJson } from './switches.ts'

/** Describes where else an agent has hooks of stint: it runs all of them, in twice the time for nothing. */
export function doublesOf(
  { agent, path }: Pick<Installation, 'agent' | 'path'>,
  workspace: string,
): Problem[] {
  // The guard of a repository and the shim before git see different commands.
  if (agent === 'git') return []
  const others = targetsToInspect([agent], undefined, workspace)
    .map(inspect)
    .filter((other) => other.commands.length > 0 && other.path !== path)
  const inFiles = others.map((other) => ({
    problem: `${agentTitle(agent)} runs the hooks in ${path} and those in ${other.path}: every hook runs twice`,
    fix: `remove those in one of the files, such as \`stint hook uninstall ${agent} --${other.place}\``,
  }))
  return agent === 'claude' ? [...inFiles, ...pluginsBeside(path, workspace)] : inFiles
}

/** The plugin for Claude Code has the same hooks. */
const pluginsBeside = (path: string, workspace: string): Problem[] =>
  allPlaces
    .flatMap((place) => settingsPath('claude', place, workspace) ?? [])
    .flatMap((file) => {
      const enabled = Object.entries(objectOr(readSettingsJson(file).enabledPlugins))
      const plugin = enabled.find(([name, on]) => name.startsWith('stint@') && on === true)
      if (plugin === undefined) return []
      return {
        problem: `${path} has hooks, and ${file} also enables the plugin ${plugin[0]}: every hook runs twice`,
        fix: 'disable the plugin, or `stint hook uninstall claude`',
      }
    })
