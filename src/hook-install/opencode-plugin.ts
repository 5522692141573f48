import { pathToFileURL } from 'node:url'
import { dirname, join } from 'node:path'
import { parseObject } from '../base/text/fields.ts'
import type { HookChoices } from '../hook/options.ts'
import type { Change, HookWriting } from './change.ts'
import { type OwnFile, removeOwnFile, writeOwnFile } from './own-file.ts'
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

const pluginFile = ({ place, path }: PluginTarget): OwnFile => ({
  agent: 'opencode',
  place,
  path,
  isOurs: isOurPlugin,
  mode: place === 'user' ? 0o600 : 0o644,
})

export const installPlugin = (
  target: PluginTarget,
  { program, dryRun, choices }: HookWriting,
): Promise<Change> => writeOwnFile(pluginFile(target), { text: () => pluginText(program, choices()), dryRun })

export const uninstallPlugin = (
  target: PluginTarget,
  options: { dryRun: boolean; keep: string },
): Promise<Change> => removeOwnFile(pluginFile(target), options)
