import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot, World } from '../../../test/support/world.ts'

/** Saves this many bytes as the cache of a script, in a child process. */
const save = (bytes: number): string => `
  import { saveCompiled } from ${JSON.stringify(join(projectRoot, 'dist/base/process/compiled-code.js'))}
  saveCompiled({ createCachedData: () => Buffer.alloc(${bytes}, 'x') }, process.argv[1])`

test('a cache is replaced completely or not at all, and a failed attempt leaves no file', async () => {
  await using world = new World()
  const cache = join(world.tmp, 'main.cache')
  writeFileSync(cache, 'old')
  // The shell limits its children's files to 64 blocks: as on a full disk, a write is cut short.
  const script = 'trap "" XFSZ; ulimit -f 64; exec "$0" --input-type=module -e "$1" "$2"'
  const attempt = (bytes: number) =>
    world.start('sh', ['-c', script, process.execPath, save(bytes), cache]).finished
  expect(await attempt(1 << 20)).toMatchObject({ code: 0, stderr: '' })
  expect([readFileSync(cache, 'utf8'), readdirSync(world.tmp)]).toEqual(['old', ['main.cache']])
  expect(await attempt(10_000)).toMatchObject({ code: 0, stderr: '' })
  expect([readFileSync(cache).length, readdirSync(world.tmp)]).toEqual([10_000, ['main.cache']])
})
