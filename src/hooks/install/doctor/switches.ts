import { join } from 'node:path'
import { getNodeValue } from 'jsonc-parser'
import { ifPossible } from '../../../base/errors/if-possible.ts'
import { errorMessage } from '../../../base/errors/stint-error.ts'
import type { HostName } from '../../hosts/host.ts'
import { agentHome, allPlaces, settingsPath } from '../agents.ts'
import { isSettingsAgent } from '../host-settings.ts'
import { type Installation, type Problem, unreadableBy } from '../inspect.ts'
import { type JsonObject, objectOr, parseJson } from '../json/parse.ts'
import { parseToml } from '../settings/parse-toml.ts'
import { decode, readSettingsFile } from '../settings/settings-file.ts'

/** Lists the settings that keep an agent from running installed hooks. */
export function switchesOf(installation: Installation, workspace: string): Problem[] {
  const { agent, path } = installation
  const unreadable = isSettingsAgent(agent) ? unreadableBy(agent, readSettingsFile(path).bytes) : undefined
  return [
    ...(unreadable === undefined ? [] : [off(unreadable, 'remove them')]),
    ...(readers[agent]?.(installation, workspace) ?? []),
  ]
}

const readers: Partial<Record<HostName, (installation: Installation, workspace: string) => Problem[]>> = {
  claude: (_, workspace) => {
    const files = allPlaces.flatMap((place) => settingsPath('claude', place, workspace) ?? [])
    return [
      ...files.flatMap(allDisabled),
      ...managedPaths
        .filter((path) => readSettingsJson(path).allowManagedHooksOnly === true)
        .map(managedOnly),
    ]
  },
  codex: () => codexSwitches(join(agentHome('codex'), 'config.toml')),
  gemini: (_, workspace) =>
    (['user', 'project'] as const).flatMap((place) => {
      const path = settingsPath('gemini', place, workspace) ?? ''
      const config = objectOr(readSettingsJson(path).hooksConfig)
      const disabled = Array.isArray(config.disabled) ? config.disabled : []
      const oursDisabled = disabled.some((name) => /^stint-|stint-hook/.test(String(name)))
      return [
        ...(config.enabled === false
          ? [off(`${path} switches hooks off`, 'remove `enabled: false` under hooksConfig')]
          : []),
        ...(oursDisabled
          ? [off(`${path} switches these hooks off`, 'remove them from hooksConfig.disabled')]
          : []),
      ]
    }),
  copilot: ({ path }) => allDisabled(path),
  qwen: (_, workspace) =>
    (['user', 'project'] as const).flatMap((place) =>
      allDisabled(settingsPath('qwen', place, workspace) ?? ''),
    ),
}

const off = (problem: string, fix: string): Problem => ({ problem, fix })

const allDisabled = (path: string): Problem[] =>
  readSettingsJson(path).disableAllHooks === true
    ? [off(`${path} switches all hooks off`, 'remove `disableAllHooks` there')]
    : []

const managedPaths = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
]
const managedOnly = (path: string): Problem =>
  off(`${path} allows managed hooks only`, 'ask the administrator of this machine to add them')

function codexSwitches(file: string): Problem[] {
  const text = ifPossible(() => decode(readSettingsFile(file).bytes, '').text) ?? ''
  try {
    const { hooks, codex_hooks } = objectOr(parseToml(text).features)
    // `codex_hooks` is the name that earlier versions of Codex use.
    if (hooks !== false && codex_hooks !== false) return []
    return [off(`${file} switches hooks off`, 'set `hooks = true` under [features]')]
  } catch (error) {
    return [off(`${file} is not valid TOML (${errorMessage(error)})`, 'repair it: Codex cannot read it')]
  }
}

/** The JSON of a settings file; empty if it cannot be read, which `inspect` reports. */
export function readSettingsJson(path: string): JsonObject {
  try {
    return objectOr(getNodeValue(parseJson(decode(readSettingsFile(path).bytes).text)))
  } catch {
    return {}
  }
}
