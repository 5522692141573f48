import { join } from 'node:path'
import { expect } from 'vitest'
import { countingStore, makeLargeSession } from './large-session.ts'
import { projectRoot, World } from './world.ts'

const mebibyte = 1 << 20

/** In bytes: more than a bare process uses, and far less than the session has. */
const memoryBound = 160 * mebibyte

/**
 * Recovery reads everything once, in little memory; later resumes read only the records after the last
 * snapshot.
 */
export async function resumeLarge(bytes: number): Promise<void> {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const { id, records } = await makeLargeSession(home, bytes)
  const code = `import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    const session = await filesystemStore().resume('${id}')
    const { replayed } = session.report
    await session.close()
    console.log(JSON.stringify({ replayed, rss: process.resourceUsage().maxRSS * 1024 }))`
  const { stdout, stderr } = await world.start(process.execPath, ['--input-type=module', '-e', code]).finished
  expect(stderr).toBe('')
  const { replayed, rss } = JSON.parse(stdout) as { replayed: number; rss: number }
  expect(replayed).toBe(records - 1)
  expect(rss).toBeLessThan(memoryBound)

  const { store, bytesRead } = countingStore(home)
  await store.visit(id, async (visit) => {
    for (let i = 0; i < 10; i++) await visit.append({ type: 'tail', data: i })
  })
  expect(bytesRead()).toBeLessThan(8 * mebibyte)
  let before = bytesRead()
  const session = await store.resume(id)
  expect(session.report).toMatchObject({ snapshot: records, replayed: 10 })
  expect(session.lastSeq).toBe(records + 10)
  expect(bytesRead() - before).toBeLessThan(8 * mebibyte)

  before = bytesRead()
  expect((await session.tail(3)).map(({ data }) => data)).toEqual([7, 8, 9])
  const middle = Math.floor(records / 2)
  for await (const { seq } of session.events({ from: middle, to: middle })) expect(seq).toBe(middle)
  expect(await store.list()).toMatchObject([{ id, records: records + 10 }])
  expect(bytesRead() - before).toBeLessThan(40 * mebibyte)
  await session.close()
}
