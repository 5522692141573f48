import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/index.ts'
import { encodeBody, encodeLine, journalCodec } from '../../src/session/log/codec.ts'
import { UiWorld } from '../support/ui-world.ts'

const events = 1_000_000

/** A closed session with this many events. Appending them one by one would take hours. */
async function makeLongSession(home: string): Promise<string> {
  const session = await filesystemStore({ home }).create({ tool: 'long', title: 'A long session' })
  await session.append({ type: 'message', data: { text: 'event 1' } })
  await session.close()
  const file = openSync(join(home, 'sessions', session.id, 'journal.log'), 'a')
  const groupSize = 50
  let lines = ''
  for (let seq = 2; seq <= events; seq++) {
    const group = seq - ((seq - 2) % groupSize)
    const body = encodeBody('message', JSON.stringify({ text: `event ${seq}` }))
    lines += `${encodeLine(journalCodec, { seq, at: Date.now(), group, epoch: 1 }, body, '').line}\n`
    if (lines.length < 1 << 20 && seq < events) continue
    writeSync(file, lines)
    lines = ''
  }
  closeSync(file)
  return session.id
}

/** The memory of a process, in MiB. */
const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

test('a timeline of 1,000,000 events scrolls to any place, with bounded memory in page and server', async () => {
  await using world = await UiWorld.open()
  const id = await makeLongSession(world.home)
  const page = await world.openPage()
  await page.evaluate(`location.hash = '#/sessions/${id}'`)
  const row = (seq: number) => page.locator(`.event[data-seq="${seq}"]`)
  await row(events).waitFor({ timeout: 120_000 })
  const client = await page.context().newCDPSession(page)
  const heapOf = async (): Promise<number> => {
    await client.send('HeapProfiler.collectGarbage')
    const { usedSize } = await client.send('Runtime.getHeapUsage')
    return usedSize / (1 << 20)
  }
  const scrollTo = (share: number): Promise<unknown> =>
    page.evaluate(`(() => {
      const frame = document.querySelector('.timeline')
      frame.scrollTop = ${share} * (frame.scrollHeight - frame.clientHeight)
    })()`)
  const server = world.server?.pid ?? 0
  const visit = async (share: number): Promise<void> => {
    await scrollTo(share)
    await expect
      .poll(() => page.locator('.event').nth(5).textContent(), { timeout: 120_000 })
      .toContain(`event `)
  }
  await visit(0)
  expect(await row(1).textContent()).toContain('event 1')
  const before = { page: await heapOf(), server: residentOf(server) }
  for (let step = 1; step <= 40; step++) await visit(((step * 7919) % 40) / 40)
  const after = { page: await heapOf(), server: residentOf(server) }
  console.log({ before, after, rows: await page.locator('.event').count() })
  expect(await page.locator('.event').count()).toBeLessThan(60)
  expect(after.page).toBeLessThan(before.page + 10)
  expect(after.server).toBeLessThan(before.server + 150)

  await page.evaluate(`location.hash = '#/sessions/${id}?at=500000'`)
  await page.locator('.event.target').waitFor({ timeout: 120_000 })
  expect(await page.textContent('.event.target')).toContain('event 500000')
})
