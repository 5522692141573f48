import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { randomFrom } from '../../testing/conformance-case.ts'
import { regionsBackwards } from './regions-backwards.ts'

async function regionsOf(content: string): Promise<string[]> {
  await using world = new World()
  const path = join(world.tmp, 'file')
  writeFileSync(path, content)
  const file = openSync(path, 'r')
  const regions: string[] = []
  for await (const region of regionsBackwards(file, Buffer.byteLength(content)))
    regions.push(region.toString())
  closeSync(file)
  return regions
}

test('the regions of a file are all of its lines, whole, whatever the lengths of the lines', async () => {
  const random = randomFrom(3)
  const lengths = [0, 1, 5, 200, 5000, 300_000, 1_048_575, 1_048_576, 1_200_000]
  for (let round = 0; round < 6; round++) {
    const lines = Array.from({ length: 1 + random(30) }, (_, i) =>
      `${i}é`.repeat(lengths[random(lengths.length)] ?? 0).slice(0, lengths[random(lengths.length)]),
    )
    const content = lines.map((line) => `${line}\n`).join('')
    const regions = await regionsOf(content)
    expect(regions.toReversed().join('') === content, `round ${round}`).toBe(true)
    for (const region of regions) expect(region === '' || region.endsWith('\n')).toBe(true)
  }
})

test('a line that is longer than any record is left out, and the lines around it are read', async () => {
  const content = `first\n${'x'.repeat(9 << 20)}\nlast\n`
  const text = (await regionsOf(content)).toReversed().join('')
  expect([text.startsWith('first\n'), text.endsWith('last\n')]).toEqual([true, true])
  expect(text.length).toBeLessThan(6 << 20)
})

test('an empty file has no region, and a file without a newline is one', async () => {
  expect(await regionsOf('')).toEqual([])
  expect(await regionsOf('torn')).toEqual(['torn'])
})
