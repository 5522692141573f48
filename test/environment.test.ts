import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from './support/world.ts'

/** Variables that only stint's own processes set and read. */
const internal = new Set(['STINT_GUARD'])

test('the page about the environment lists every variable that stint reads or sets, and no other', () => {
  const page = readFileSync(join(projectRoot, 'docs/environment.md'), 'utf8')
  const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|^testing\//.test(name))
    .map((name) => readFileSync(join(projectRoot, 'src', name), 'utf8'))
  const namesIn = (text: string): string[] => text.match(/\bSTINT_[A-Z]+(?:_[A-Z]+)*\b/g) ?? []
  const used = new Set(sources.flatMap(namesIn).filter((name) => !internal.has(name)))
  expect([...new Set(namesIn(page))].sort()).toEqual([...used].sort())
})
