import { pathToFileURL } from 'node:url'
import { dirname, join } from 'node:path'
import { parseObject } from '../../base/text/fields.ts'
import type { HookChoices } from '../options.ts'
import {
  type Change,
  type HookWriting,
  installPart,
  type SettingsPart,
  uninstallPart,
  wholeFile,
} from './change.ts'
import type { PluginTarget } from './target.ts'

const mark = '// Written by `stint hook install opencode`; `stint hook uninstall opencode` removes it.\n'

export const isOurPlugin = (text: string): boolean => text.startsWith(mark)

/** True if the plugin contains exactly what stint writes. */
export const isUnmodifiedPlugin = (text: string): boolean =>
  /^import \{ stintPlugin \} from "file:[^"\\\n]+"\n\nexport const stint = stintPlugin\(\{[\w":,-]*\}\)\n$/.test(
    text.slice(mark.length),
  )

/** The choices that a plugin was written with. */
export const choicesInPlugin = (text: string): HookChoices =>
  parseObject(/stintPlugin\((\{.*\})\)/.exec(text)?.[1] ?? '') ?? {}

/** OpenCode loads every file in its plugin directory; this one imports the plugin from where stint is. */
function pluginText(program: readonly string[], choices: HookChoices): string {
  const chosen = Object.fromEntries(Object.entries(choices).filter(([, value]) => value !== undefined))
  const plugin = pathToFileURL(join(dirname(program.at(-1) ?? ''), 'opencode-plugin.mjs')).href
  const lines = [
    `import { stintPlugin } from ${JSON.stringify(plugin)}`,
    '',
    `export const stint = stintPlugin(${JSON.stringify(chosen)})`,
  ]
  return `${mark}${lines.join('\n')}\n`
}

const pluginPart = (path: string, text: () => string): SettingsPart => wholeFile(path, mark, text)

export const installPlugin = (
  { agent, place, path }: PluginTarget,
  { program, dryRun, choices }: HookWriting,
): Promise<Change> =>
  installPart(
    { agent, place, path },
    { part: () => pluginPart(path, () => pluginText(program, choices())), dryRun },
  )

export const uninstallPlugin = ({ agent, place, path }: PluginTarget, dryRun: boolean): Promise<Change> =>
  uninstallPart({ agent, place, path }, { part: pluginPart(path, () => ''), dryRun })
