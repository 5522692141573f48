import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPrograms } from '../../test/support/copy-tree.ts'
import { HookWorld, lineOf, type Moment, outcome } from '../../test/support/hook-host.ts'
import { projectRoot } from '../../test/support/world.ts'
import type { SettingsAgentName } from './hosts/host.ts'

/** A copy of the installation, and hooks started from it. */
class Installed extends HookWorld {
  readonly bin = join(this.tmp, 'bin')

  constructor() {
    super()
    copyPrograms(join(projectRoot, 'dist/bin'), this.bin)
  }

  async fire(host: SettingsAgentName, moment: Moment, record = false, session?: string) {
    const line = lineOf(host, moment, { record }, [process.execPath, join(this.bin, 'stint-hook.cjs')])
    const named = session === undefined ? {} : { session }
    return outcome(host, await this.startHook(host, moment, { line, ...named }).finished)
  }

  /** The bytes of the only cache. */
  get cache(): Buffer {
    return readFileSync(join(this.bin, readdirSync(this.bin).find((name) => name.endsWith('.cache')) ?? ''))
  }

  get caches(): string[] {
    return readdirSync(this.bin)
      .filter((name) => name.includes('.cache'))
      .map((name) => name.replace(/-[0-9a-f]{16}-.*\.cache$/, ''))
      .sort()
  }
}

test('a tool call makes the code cache, the start of a session does not', async () => {
  await using world = new Installed()
  await world.fire('claude', 'start')
  expect(world.caches).toEqual([])
  expect(await world.fire('claude', 'pre')).toMatchObject({ allowed: true })
  expect(world.caches).toEqual(['hook-main'])
  expect(await world.fire('claude', 'pre', true)).toMatchObject({ allowed: true })
  expect(world.caches).toEqual(['hook-main', 'hook-record'])
  expect(await world.fire('claude', 'pre', true)).toMatchObject({ allowed: true })
  expect(readdirSync(join(world.home, 'sessions'))).toContain('session-a')
})

test('the first three events of each kind add their functions to the code cache', async () => {
  await using world = new Installed()
  const seen: Buffer[] = []
  for (const [moment, session] of [
    ['pre', 'mine'],
    ['pre', 'other'],
    ['prompt', 'mine'],
    ['stop', 'mine'],
  ] as const)
    for (let count = 0; count < 4; count++) {
      const { allowed } = await world.fire('claude', moment, false, session)
      expect(allowed).toBe(session === 'mine')
      seen.push(world.cache)
    }
  const isNew = seen.map((bytes, index) => index === 0 || !bytes.equals(seen[index - 1] ?? bytes))
  expect(isNew).toEqual(seen.map((_, index) => index % 4 < 3))
  expect(seen.at(-1)?.subarray(-4)).toEqual(Buffer.of(3, 3, 3, 3))
})

test('a damaged code cache is ignored and made again', async () => {
  await using world = new Installed()
  await world.fire('claude', 'pre')
  const cache = readdirSync(world.bin).find((name) => name.endsWith('.cache')) ?? ''
  const path = join(world.bin, cache)
  const size = readFileSync(path).length
  for (const damaged of [
    Buffer.alloc(0),
    Buffer.from('nonsense'),
    readFileSync(path).subarray(0, size / 2),
  ]) {
    writeFileSync(path, damaged)
    expect(await world.fire('claude', 'pre')).toMatchObject({ allowed: true })
    expect(readFileSync(path).length).toBeGreaterThan(size / 2)
  }
  rmSync(path)
  expect(await world.fire('claude', 'post')).toMatchObject({ allowed: true })
})
