import { expect, test } from 'vitest'
import { killNow, UiWorld } from '../support/ui-world.ts'

test('acts stand in the timeline as rows, with intent, outcome and duration, and appear as they happen', async () => {
  await using world = await UiWorld.open()
  const { holder, id } = await world.startRecorded('Nightly import', [{ text: 'order 1 is priced' }])
  await holder.tell({ do: 'act', key: 'charge 1', subject: 'order 1' })
  await holder.tell({ do: 'append', type: 'message', data: { text: 'order 2 is priced' } })
  const page = await world.openPage()
  await page.evaluate(`location.hash = '#/sessions/${id}'`)
  const rows = page.locator('.timeline .event')
  const texts = (): Promise<string[]> => rows.allTextContents()
  await expect.poll(texts).toHaveLength(3)
  const [second, act, first] = await texts()
  expect(first).toContain('order 1 is priced')
  expect(act).toMatch(/^actorder 1Done\d+ms/)
  expect(second).toContain('order 2 is priced')

  // An act that fails, and one that begins: without a reload.
  await holder
    .tell({ do: 'act', key: 'charge 2', subject: 'order 2', failing: 'card declined' })
    .catch(() => {})
  await expect.poll(async () => (await texts())[0]).toMatch(/order 2Failed: card declined\d+ms/)
  holder.running.child.send({ do: 'act', key: 'charge 3', subject: 'order 3', forever: true })
  await expect.poll(async () => (await texts())[0]).toContain('order 3No outcome yet')
  await killNow(holder.running)
  await expect.poll(() => page.locator('.event.open').textContent()).toMatch(/order 3No outcome(?! yet)/)
  await page.locator('.head .state', { hasText: 'Crashed' }).waitFor()
  expect(await page.locator('.unsettled').textContent()).toContain('order 3')

  await page.locator('.event.open').click()
  expect(await page.locator('details[open] .detail pre').textContent()).toContain('"key": "charge 3"')
  expect(world.browser.faults).toEqual([])
})

test('a session that has only recorded acts has a timeline, too', async () => {
  await using world = await UiWorld.open()
  const { holder, id } = await world.startRecorded('Acts only', [])
  for (const key of ['one', 'two', 'three']) await holder.tell({ do: 'act', key, subject: key })
  const page = await world.openPage()
  await page.evaluate(`location.hash = '#/sessions/${id}'`)
  await expect.poll(() => page.locator('.event.act').allTextContents()).toHaveLength(3)
  expect(
    (await page.locator('.event.act').allTextContents()).map((text) => /(one|two|three)/.exec(text)?.[0]),
  ).toEqual(['three', 'two', 'one'])
  await holder.tell({ do: 'append', type: 'message', data: { text: 'the first event' } })
  await holder.tell({ do: 'act', key: 'four', subject: 'four' })
  await expect.poll(async () => (await page.locator('.event').allTextContents()).at(0)).toContain('four')
  expect((await page.locator('.event').allTextContents()).at(1)).toContain('the first event')
  expect(world.browser.faults).toEqual([])
})
