import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from './support/world.ts'

/** What processes of ours tell each other, and nobody else sets or reads. */
const internal = new Set(['STINT_DEMO_PART', 'STINT_GUARD'])

test('every environment variable that stint reads or sets is on its page, and no other is', () => {
  const page = readFileSync(join(projectRoot, 'docs/environment.md'), 'utf8')
  const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|^testing\//.test(name))
    .map((name) => readFileSync(join(projectRoot, 'src', name), 'utf8'))
  const namesIn = (text: string): string[] => text.match(/\bSTINT_[A-Z]+(?:_[A-Z]+)*\b/g) ?? []
  const used = new Set(sources.flatMap(namesIn).filter((name) => !internal.has(name)))
  expect([...new Set(namesIn(page))].sort()).toEqual([...used].sort())
})
