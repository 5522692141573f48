import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildSlowSync } from '../support/build-c.ts'
import { projectRoot, World } from '../support/world.ts'

// A sync takes 5 ms more, so commits are in the thread pool.
test.each([
  ['1,000,000 appends by 64 callers on one session', 1, 64, 1_000_000],
  ['20,000 appends by 100 callers on 100 sessions', 100, 100, 20_000],
])(
  '%s on a slow disk need bounded memory, and the process ends by itself',
  async (_, sessions, callers, records) => {
    await using world = new World()
    const program = join(projectRoot, 'test/fixtures/many-appends.mjs')
    const args = [program, join(world.tmp, 'home'), ...[sessions, callers, records].map(String)]
    const env = { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: '5' }
    const { code, stdout, stderr } = await world.start(process.execPath, args, { env }).finished
    expect([code, stderr]).toEqual([0, ''])
    console.log(stdout)
    const { rssMiB, ...result } = JSON.parse(stdout) as { rssMiB: number; records: number; faults: string[] }
    expect(result).toEqual({ records, faults: [] })
    expect(rssMiB).toBeLessThan(200)
  },
)
