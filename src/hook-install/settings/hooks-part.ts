import type { SettingsAgentName } from '../../hook/host.ts'
import { hostSettings, type SettingsShape } from '../host-settings.ts'
import { type JsonPath, nodeAt, parseJson } from '../json/parse.ts'
import type { SettingsPart } from './change-settings.ts'
import { choiceFlags } from './command-text.ts'
import { findHandlers, withEntries, withoutEntries } from './edit-hooks.ts'
import { type EntryOptions, hookEntries } from './entry.ts'

/** The hooks of an agent, as a part of its settings; without `options`, only for removing them. */
export function hooksPart(agent: SettingsAgentName, options?: EntryOptions): SettingsPart {
  const { shape } = hostSettings[agent]
  return {
    name: 'hooks',
    word: 'stint-hook',
    emptyText: '{}\n',
    ...(options && { options: choiceFlags(options) }),
    isIn: (text) => findHandlers(text, agent, shape).length > 0,
    addTo: (text) => withEntries(text, agent, shape, options ? hookEntries(agent, options) : []),
    removeFrom: (text, before) => withoutEntries(text, agent, shape, existedIn(before)),
    isBlank: (text) => isOnlyOurs(text, shape),
  }
}

/** Tells which containers existed before the installation: those stay, even if they are empty. */
export function existedIn(before: string | undefined): (path: JsonPath) => boolean {
  try {
    const root = parseJson(before ?? '{}')
    return (path) => nodeAt(root, path) !== undefined
  } catch {
    return () => false
  }
}

const isOnlyOurs = (text: string, shape: SettingsShape): boolean =>
  (parseJson(text).children ?? []).every(({ children }) =>
    Object.hasOwn(shape.root, String(children?.[0]?.value)),
  )
