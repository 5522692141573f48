import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/index.ts'
import { encodeBody, journalCodec } from '../../src/session/log/codec.ts'
import { UiWorld } from '../support/ui-world.ts'

const events = 1_000_000

/** A closed session with this many events. Appending them one by one would take hours. */
async function makeLongSession(home: string): Promise<string> {
  const session = await filesystemStore({ home }).create({ tool: 'long', title: 'A long session' })
  await session.append({ type: 'message', data: { text: 'event 1' } })
  await session.close()
  // The lock says where the journal ended when it was closed.
  rmSync(join(home, 'sessions', session.id, 'lock'), { recursive: true })
  const file = openSync(join(home, 'sessions', session.id, 'journal.log'), 'a')
  const groupSize = 50
  let lines = ''
  for (let seq = 2; seq <= events; seq++) {
    const group = seq - ((seq - 2) % groupSize)
    const body = encodeBody({ type: 'message', json: JSON.stringify({ text: `event ${seq}` }) })
    lines += `${journalCodec.encode({ seq, at: Date.now(), group, epoch: 1 }, body, '').line}\n`
    if (lines.length < 1 << 20 && seq < events) continue
    writeSync(file, lines)
    lines = ''
  }
  closeSync(file)
  return session.id
}

test('a session of 1,000,000 events shows its last 200, older ones by a click, and any one by its address', async () => {
  await using world = await UiWorld.open()
  const id = await makeLongSession(world.home)
  const page = await world.openPage()
  await page.evaluate(`location.hash = '#/sessions/${id}'`)
  const rows = page.locator('.event')
  const row = (seq: number) => page.locator(`.event[data-seq="${seq}"]`)
  await row(events).waitFor({ timeout: 120_000 })
  expect(await rows.count()).toBe(200)
  expect(await rows.first().textContent()).toContain(`event ${events}`)
  await page.locator('button', { hasText: 'Older' }).click()
  await row(events - 200).waitFor({ timeout: 120_000 })
  expect(await rows.count()).toBe(200)
  await page.locator('button', { hasText: 'Newest' }).click()
  await row(events).waitFor({ timeout: 120_000 })

  await page.evaluate(`location.hash = '#/sessions/${id}?at=500000'`)
  await page.locator('.event.target').waitFor({ timeout: 120_000 })
  expect(await page.textContent('.event.target')).toContain('event 500000')
  expect(await rows.count()).toBe(200)
  expect(world.browser.faults).toEqual([])
})
