import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from './world.ts'

/** The files that a section of a page shows: blocks that begin with `// name`. Of a diff, what is there afterwards. */
export function filesInSection(page: string, title: string): Record<string, string> {
  const text = readFileSync(join(projectRoot, page), 'utf8')
  const section = text.split(/^## /m).find((section) => section.startsWith(`${title}\n`)) ?? ''
  const blocks = [...section.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language, code = '']) =>
    language === 'diff' ? code.replaceAll(/^-.*\n/gm, '').replaceAll(/^[+ ]/gm, '') : code,
  )
  return Object.fromEntries(
    blocks.flatMap((code) => {
      const name = /^\/\/ (\S+)\n/.exec(code)?.[1]
      return name === undefined ? [] : [[name, code]]
    }),
  )
}
