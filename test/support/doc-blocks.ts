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

/** The code blocks of a page, in order. */
export const blocksOf = (page: string): Block[] => blocksIn(page, readPage(page))

const blocksIn = (page: string, text: string): Block[] =>
  [...text.matchAll(/^( *)```(\w*)\n(.*?)^ *```$/gms)].map(([, indent = '', language = '', code = '']) => ({
    page,
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))

/** The files in a section of a page: blocks that begin with `// name`. A diff gives its result. */
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
