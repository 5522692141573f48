import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { parseObject } from '../../base/text/fields.ts'
import type { OwnFile } from './change.ts'

/** OpenCode loads every file in its plugin directory; this one imports the plugin from where stint is. */
export const openCodePlugin: OwnFile = {
  firstLines: '// Written by `stint hook install opencode`; `stint hook uninstall opencode` removes it.\n',
  write(program, choices) {
    const plugin = pathToFileURL(join(dirname(program.at(-1) ?? ''), 'opencode-plugin.mjs')).href
    const lines = [
      `import { stintPlugin } from ${JSON.stringify(plugin)}`,
      '',
      `export const stint = stintPlugin(${JSON.stringify(choices)})`,
    ]
    return `${this.firstLines}${lines.join('\n')}\n`
  },
  read(text) {
    const [, url = ''] = /"(file:[^"]+)"/.exec(text) ?? []
    const file = ifPossible(() => fileURLToPath(url))
    return {
      program: file === undefined ? [] : [file],
      choices: parseObject(/stintPlugin\((\{.*\})\)/.exec(text)?.[1] ?? '') ?? {},
    }
  },
}
