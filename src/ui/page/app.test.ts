import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { projectRoot } from '../../../test/support/world.ts'

const built = join(projectRoot, 'dist/ui/page')
const read = (name: string): string => readFileSync(join(built, name), 'utf8')

test('what the page downloads is at most 100 KB compressed', () => {
  const compressed = readdirSync(built).map((name) => gzipSync(read(name)).length)
  expect(compressed.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(100_000)
})

test('the page has no inline script or style, no markup out of strings, and loads nothing from elsewhere', () => {
  expect(read('index.html')).not.toMatch(/<script(?![^>]*src=)|<style|style=|\son\w+=/)
  for (const name of readdirSync(built).filter((each) => each !== 'LICENSES.txt'))
    expect(
      read(name).match(
        /(?:src|href)="(?!\w+\.(?:js|css|svg)")[^"#]*"|url\(|@import|https?:\/\/(?!www\.w3\.org)/g,
      ),
    ).toBeNull()
})
