import { join } from 'node:path'
import { getNodeValue } from 'jsonc-parser'
import type { AgentName } from '../../hook/hosts.ts'
import type { Installation } from '../inspect.ts'
import { type JsonObject, objectOr, parseJson } from '../json/parse.ts'
import { agentHome, settingsPath } from '../agent-home.ts'
import { readSettings } from '../settings/settings-file.ts'
import { readCodexConfig } from './codex-config.ts'
import { decode } from '../settings/settings-text.ts'
import { unreadBy } from '../settings/strict-json.ts'

/** Something in an agent's settings that decides whether its hooks run. */
export interface Switch {
  /** `off`: they do not run. `ask`: they may not, which only the agent knows. */
  state: 'off' | 'ask'
  problem: string
  fix: string
}

/** What keeps the agent from running hooks that are installed. */
export function switchesOf(installation: Installation, workspace: string): Switch[] {
  const { agent, path } = installation
  return [...unread(agent, path), ...(looks[agent]?.(installation, workspace) ?? [])]
}

function unread(agent: AgentName, path: string): Switch[] {
  if (agent === 'git') return []
  const problem = unreadBy(agent, readSettings(path).bytes)
  return problem === undefined ? [] : [off(problem, 'take them out')]
}

const looks: Partial<Record<AgentName, (installation: Installation, workspace: string) => Switch[]>> = {
  claude: (_, workspace) => {
    const files = (['user', 'project', 'local'] as const).flatMap(
      (place) => settingsPath('claude', place, workspace) ?? [],
    )
    return [
      ...files.flatMap((path) => [...allDisabled(path), ...pluginToo(path)]),
      ...managedPaths.filter((path) => jsonOf(path).allowManagedHooksOnly === true).map(managedOnly),
    ]
  },
  codex: ({ path }) => {
    const file = join(agentHome('codex'), 'config.toml')
    const config = readCodexConfig(tomlOf(file), [path, readSettings(path).real])
    if ('invalid' in config)
      return [off(`${file} is not valid TOML (${config.invalid})`, 'repair it: Codex cannot read it')]
    return [
      ...(config.off ? [off(`${file} switches hooks off`, 'set `hooks = true` under [features]')] : []),
      ...(config.trust === 'disabled'
        ? [off(`${file} switches these hooks off`, 'enter /hooks in Codex')]
        : []),
      ...(config.trust === 'unknown' ? [untrusted] : []),
    ]
  },
  gemini: (_, workspace) =>
    (['user', 'project'] as const).flatMap((place) => {
      const path = settingsPath('gemini', place, workspace) ?? ''
      const config = objectOr(jsonOf(path).hooksConfig)
      const disabled = Array.isArray(config.disabled) ? config.disabled : []
      const ours = disabled.some((name) => /^stint-|stint-hook/.test(String(name)))
      return [
        ...(config.enabled === false
          ? [off(`${path} switches hooks off`, 'remove `enabled: false` under hooksConfig')]
          : []),
        ...(ours ? [off(`${path} switches these hooks off`, 'remove them from hooksConfig.disabled')] : []),
      ]
    }),
  copilot: ({ path }) => allDisabled(path),
}

const untrusted: Switch = {
  state: 'ask',
  problem: 'Codex skips these hooks until you trust them',
  fix: 'enter /hooks in Codex',
}

const off = (problem: string, fix: string): Switch => ({ state: 'off', problem, fix })

const allDisabled = (path: string): Switch[] =>
  jsonOf(path).disableAllHooks === true
    ? [off(`${path} switches all hooks off`, 'remove `disableAllHooks` there')]
    : []

/** A plugin's hooks run beside those in the settings: twice the time, no more safety. */
function pluginToo(path: string): Switch[] {
  const enabled = Object.entries(objectOr(jsonOf(path).enabledPlugins))
  const plugin = enabled.find(([name, on]) => name.startsWith('stint@') && on === true)
  if (plugin === undefined) return []
  return [
    {
      state: 'ask',
      problem: `${path} enables the plugin ${plugin[0]}, too: every hook runs twice`,
      fix: 'disable the plugin, or `stint hook uninstall claude`',
    },
  ]
}

const managedPaths = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
]
const managedOnly = (path: string): Switch =>
  off(`${path} allows managed hooks only`, 'ask whoever manages this machine to add them')

function tomlOf(path: string): string {
  try {
    return (readSettings(path).bytes?.toString() ?? '').replace(/^\uFEFF/, '')
  } catch {
    return ''
  }
}

/** What cannot be read has no switch in it: that it cannot be read is told elsewhere. */
function jsonOf(path: string): JsonObject {
  try {
    return objectOr(getNodeValue(parseJson(decode(readSettings(path).bytes).text)))
  } catch {
    return {}
  }
}
