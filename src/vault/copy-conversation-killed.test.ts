import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { generationsOf } from '../../test/support/vault-contents.ts'
import { projectRoot, World } from '../../test/support/world.ts'

const copier = join(projectRoot, 'test/fixtures/vault-copier.mjs')
const before = 'one\ntwo\n'

/** Copies a file of the world into a conversation, in which it is always called `it.jsonl`. */
const startCopy = (world: World, directory: string, name: string, ...more: string[]) =>
  world.start(process.execPath, [copier, directory, join(world.tmp, name), ...more]).finished

/** Copies with a kill at each call, in a vault of its own each time, several at once. */
async function killAtEachCall(
  world: World,
  prepare: (directory: string) => Promise<void>,
  check: (directory: string, at: number) => Promise<void>,
): Promise<number> {
  const run = async (at: number): Promise<boolean> => {
    const directory = join(world.tmp, `vault-${at}`)
    await prepare(directory)
    const { signal } = await startCopy(world, directory, 'b.jsonl', String(at))
    if (signal !== null) await check(directory, at)
    return signal !== null
  }
  for (let first = 1; ; first += 4) {
    const killed = await Promise.all([0, 1, 2, 3].map((more) => run(first + more)))
    if (killed.includes(false)) return first + killed.indexOf(false) - 1
  }
}

test.each<[how: string, after: string, generations: string[]]>([
  ['has grown', `${before}three\n`, [`${before}three\n`]],
  ['was rewritten', 'other\n', [before, 'other\n']],
])(
  'a copier that is killed at any of its calls, while a file %s, loses nothing, and the next one completes it',
  async (_, after, generations) => {
    await using world = new World()
    for (const [name, text] of [
      ['a.jsonl', before],
      ['b.jsonl', after],
    ] as const)
      writeFileSync(join(world.tmp, name), text)
    const killed = await killAtEachCall(
      world,
      async (directory) => void (await startCopy(world, directory, 'a.jsonl')),
      async (directory, at) => {
        const kept = generationsOf(directory, 'it.jsonl')
        expect([[before], generations], `killed at call ${at}`).toContainEqual(kept)
        await startCopy(world, directory, 'b.jsonl')
        expect(generationsOf(directory, 'it.jsonl'), `killed at call ${at}`).toEqual(generations)
        expect(readdirSync(directory).filter((name) => name.endsWith('.new'))).toEqual([])
      },
    )
    expect(killed).toBeGreaterThan(5)
  },
)

test('a first copy that is killed at any of its calls is completed by the next one', async () => {
  await using world = new World()
  writeFileSync(join(world.tmp, 'b.jsonl'), before)
  const killed = await killAtEachCall(
    world,
    async () => {},
    async (directory, at) => {
      await startCopy(world, directory, 'b.jsonl')
      expect(generationsOf(directory, 'it.jsonl'), `killed at call ${at}`).toEqual([before])
    },
  )
  expect(killed).toBeGreaterThan(5)
})

const change = fc.oneof(
  fc.record({ how: fc.constant('append' as const), text: fc.string({ minLength: 1, maxLength: 20 }) }),
  fc.record({ how: fc.constant('rewrite' as const), text: fc.string({ minLength: 1, maxLength: 20 }) }),
)

test('after any appends and rewrites, with copiers that are killed, all that was complete at a copy comes back', async () => {
  const rounds = fc.array(fc.tuple(change, fc.nat(30)), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(rounds, async (steps) => {
      await using world = new World()
      const [file, directory] = [join(world.tmp, 'b.jsonl'), join(world.tmp, 'vault')]
      /** What each copier that ended has acknowledged. */
      const acknowledged: string[] = []
      writeFileSync(file, '')
      for (const [{ how, text }, killAt] of steps) {
        if (how === 'append') appendFileSync(file, text)
        else writeFileSync(file, text)
        const { signal } = await startCopy(world, directory, 'b.jsonl', String(killAt))
        if (signal === null) acknowledged.push(readFileSync(file, 'latin1'))
        const kept = generationsOf(directory, 'it.jsonl')
        for (const bytes of acknowledged) expect(kept.some((each) => each.startsWith(bytes))).toBe(true)
      }
      await startCopy(world, directory, 'b.jsonl')
      expect(generationsOf(directory, 'it.jsonl').at(-1)).toBe(readFileSync(file, 'latin1'))
    }),
    { numRuns: 8 },
  )
})

test('bytes and the names of their files are synced before the record that acknowledges them', async () => {
  await using world = new World()
  const [file, log, directory] = ['a.jsonl', 'log', 'vault'].map((name) => join(world.tmp, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(file, before)
  await startCopy(world, directory, 'a.jsonl', '0', log)
  /** The calls that write and sync, in their order. */
  const writes = (): string[] =>
    readFileSync(log, 'utf8')
      .replaceAll(directory, 'VAULT')
      .split('\n')
      .filter((line) => /^(?:write|f).* VAULT(?!\/lock)/.test(line))
      .map((line) => line.replace('Sync', ''))
  expect(writes()).toEqual([
    'ftruncate VAULT/1/it.jsonl',
    'write VAULT/1/it.jsonl',
    'fsync VAULT/1/it.jsonl',
    'fsync VAULT/1',
    'fsync VAULT',
    'ftruncate VAULT/vault.jsonl.new',
    'write VAULT/vault.jsonl.new',
    'fsync VAULT/vault.jsonl.new',
    'fsync VAULT',
  ])
  appendFileSync(file, 'three\n')
  writeFileSync(log, '')
  await startCopy(world, directory, 'a.jsonl', '0', log)
  expect(writes()).toEqual([
    'ftruncate VAULT/1/it.jsonl',
    'write VAULT/1/it.jsonl',
    'fsync VAULT/1/it.jsonl',
    'ftruncate VAULT/vault.jsonl.new',
    'write VAULT/vault.jsonl.new',
    'fsync VAULT/vault.jsonl.new',
    'fsync VAULT',
  ])
})
