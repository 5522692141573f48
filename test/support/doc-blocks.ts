import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from './world.ts'

/** A block of code in a page. */
export interface Block {
  page: string
  language: string
  code: string
}

export const readPage = (page: string): string => readFileSync(join(projectRoot, page), 'utf8')

/** The blocks of a page, in its order. */
export const blocksOf = (page: string): Block[] => blocksIn(page, readPage(page))

const blocksIn = (page: string, text: string): Block[] =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({
    page,
    language,
    code,
  }))

/** The files that a section of a page shows: blocks that begin with `// name`. Of a diff, what is there afterwards. */
export function filesInSection(page: string, title: string): Record<string, string> {
  const section =
    readPage(page)
      .split(/^## /m)
      .find((section) => section.startsWith(`${title}\n`)) ?? ''
  const texts = blocksIn(page, section).map(({ language, code }) =>
    language === 'diff' ? code.replaceAll(/^-.*\n/gm, '').replaceAll(/^[+ ]/gm, '') : code,
  )
  return Object.fromEntries(
    texts.flatMap((code) => {
      const name = /^\/\/ (\S+)\n/.exec(code)?.[1]
      return name === undefined ? [] : [[name, code]]
    }),
  )
}
