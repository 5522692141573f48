import { join } from 'node:path'
import { getNodeValue } from 'jsonc-parser'
import type { HostName } from '../../hook/host.ts'
import { agentHome, allPlaces, settingsPath } from '../agents.ts'
import { isSettingsAgent } from '../host-settings.ts'
import { type Installation, unreadableBy } from '../inspect.ts'
import { type JsonObject, objectOr, parseJson } from '../json/parse.ts'
import { decode, readSettingsFile } from '../settings/settings-file.ts'
import { readCodexConfig } from './codex-config.ts'

/** A setting of an agent that keeps installed hooks from running. */
export interface Switch {
  /** `off`: the hooks do not run. `ask`: they may not run; only the agent knows. */
  state: 'off' | 'ask'
  problem: string
  fix: string
}

/** Lists the settings that keep an agent from running installed hooks. */
export function switchesOf(installation: Installation, workspace: string): Switch[] {
  const { agent, path } = installation
  const unreadable = isSettingsAgent(agent) ? unreadableBy(agent, readSettingsFile(path).bytes) : undefined
  return [
    ...(unreadable === undefined ? [] : [off(unreadable, 'remove them')]),
    ...(readers[agent]?.(installation, workspace) ?? []),
  ]
}

const readers: Partial<Record<HostName, (installation: Installation, workspace: string) => Switch[]>> = {
  claude: (_, workspace) => {
    const files = allPlaces.flatMap((place) => settingsPath('claude', place, workspace) ?? [])
    return [
      ...files.flatMap(allDisabled),
      ...managedPaths
        .filter((path) => readSettingsJson(path).allowManagedHooksOnly === true)
        .map(managedOnly),
    ]
  },
  codex: ({ path }) => {
    const file = join(agentHome('codex'), 'config.toml')
    const config = readCodexConfig(tomlOf(file), [path, readSettingsFile(path).real])
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

const untrusted: Switch = {
  state: 'ask',
  problem: 'Codex skips these hooks until you trust them',
  fix: 'enter /hooks in Codex',
}

const off = (problem: string, fix: string): Switch => ({ state: 'off', problem, fix })

const allDisabled = (path: string): Switch[] =>
  readSettingsJson(path).disableAllHooks === true
    ? [off(`${path} switches all hooks off`, 'remove `disableAllHooks` there')]
    : []

const managedPaths = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
]
const managedOnly = (path: string): Switch =>
  off(`${path} allows managed hooks only`, 'ask the administrator of this machine to add them')

function tomlOf(path: string): string {
  try {
    return (readSettingsFile(path).bytes?.toString() ?? '').replace(/^\uFEFF/, '')
  } catch {
    return ''
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
