import { pathToFileURL } from 'node:url'
import { dirname, join } from 'node:path'
import type { HookChoices } from '../hook/options.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { type Change, exclusively } from './change.ts'
import {
  checkWritable,
  readSettingsFile,
  removeEmptyAbove,
  unlinkIfExists,
  writeSettingsFile,
} from './settings/settings-file.ts'
import type { PluginTarget } from './target.ts'

const mark = '// Written by `stint hook install opencode`; `stint hook uninstall opencode` removes it.\n'

export const isOurPlugin = (text: string): boolean => text.startsWith(mark)

/** True if the plugin contains exactly what stint writes. */
export const isUnmodifiedPlugin = (text: string): boolean =>
  /^import \{ stintPlugin \} from "file:[^"\\\n]+"\n\nexport const stint = stintPlugin\(\{[\w":,-]*\}\)\n$/.test(
    text.slice(mark.length),
  )

/** OpenCode loads every file in its plugin directory; this one imports the plugin from where stint is. */
function pluginText(program: readonly string[], choices: HookChoices): string {
  const chosen = Object.fromEntries(
    Object.entries(choices).filter(([, value]) => value !== undefined && value !== false),
  )
  const plugin = pathToFileURL(join(dirname(program.at(-1) ?? ''), 'opencode-plugin.mjs')).href
  const lines = [
    `import { stintPlugin } from ${JSON.stringify(plugin)}`,
    '',
    `export const stint = stintPlugin(${JSON.stringify(chosen)})`,
  ]
  return `${mark}${lines.join('\n')}\n`
}

export async function installPlugin(
  { place, path }: PluginTarget,
  { program, dryRun, ...choices }: HookChoices & { program: readonly string[]; dryRun: boolean },
): Promise<Change> {
  const after = Buffer.from(pluginText(program, choices))
  const act = (): Change => {
    const file = readSettingsFile(path)
    const change = { agent: 'opencode' as const, place, path, before: file.bytes, after }
    if (file.bytes?.equals(after)) return { ...change, outcome: 'unchanged' }
    if (file.bytes !== undefined && !isOurPlugin(file.bytes.toString()))
      throw new StintError('NAME_TAKEN', `${path} exists already, and was not written by stint`, {
        hint: 'Move it away, then try again.',
      })
    checkWritable(file)
    if (!dryRun) writeSettingsFile(file, after, place === 'user' ? 0o600 : 0o644)
    return { ...change, outcome: file.bytes === undefined ? 'installed' : 'updated' }
  }
  return dryRun ? act() : exclusively(path, act)
}

export async function uninstallPlugin(
  { place, path }: PluginTarget,
  { dryRun, keep }: { dryRun: boolean; keep: string },
): Promise<Change> {
  const act = (): Change => {
    const { bytes } = readSettingsFile(path)
    const change = { agent: 'opencode' as const, place, path, before: bytes }
    if (bytes === undefined || !isOurPlugin(bytes.toString()))
      return { ...change, outcome: 'absent', after: bytes }
    if (!dryRun) {
      unlinkIfExists(path)
      removeEmptyAbove(path, keep)
    }
    return { ...change, outcome: 'restored', after: undefined }
  }
  return dryRun || readSettingsFile(path).bytes === undefined ? act() : exclusively(path, act)
}
