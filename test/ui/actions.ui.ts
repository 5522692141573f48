import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { killNow, UiWorld } from '../support/ui-world.ts'

/** Presses a button of the page and says yes; writes a line if the dialog asks for one. */
async function confirm(page: Page, verb: string, line?: string): Promise<void> {
  await page.locator('main button', { hasText: verb }).first().click()
  if (line !== undefined) await page.locator('dialog[open] textarea').fill(line)
  await page.locator('dialog[open] button.main').click()
  await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
}

const goTo = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

test('a broken claim, confirmed, is in the activity log with its reason', async () => {
  await using world = await UiWorld.open()
  await world.lock(['acquire', '--session', 'holder'])
  const page = await world.openPage()
  await goTo(page, `#/workspaces/${world.key}`)
  await confirm(page, 'Break claim', 'since noon')
  await expect.poll(() => page.textContent('main')).toContain('Free: the next session')
  const history = async () => (await world.lock(['history'])).envelope().data as { activities: unknown[] }
  await expect
    .poll(async () => (await history()).activities.at(-1))
    .toMatchObject({ kind: 'break', session_id: 'holder', reason: 'since noon' })
  expect(world.browser.faults).toEqual([])
})

test('unlock, close and trash, each confirmed, do what their commands do', async () => {
  await using world = await UiWorld.open()
  const crashed = await world.startRecorded('Crashed import', [{ text: 'one' }])
  await killNow(crashed.holder.running)
  const held = await world.startRecorded('Held import', [{ text: 'two' }])
  const page = await world.openPage()
  await goTo(page, `#/sessions/${held.id}`)
  await confirm(page, 'Unlock')
  await expect.poll(() => page.textContent('.facts')).toContain('no process')
  await goTo(page, `#/sessions/${crashed.id}`)
  await expect.poll(() => page.textContent('h1')).toBe('Crashed import')
  expect(await page.locator('main button', { hasText: 'Unlock' }).count()).toBe(0)
  await confirm(page, 'Close')
  await expect.poll(() => page.textContent('.head .state')).toContain('Closed')
  await confirm(page, 'Move to trash')
  await expect.poll(() => page.textContent('h1')).toBe('Sessions')
  expect(world.browser.faults).toEqual([])
})

test('a session shows its slots, and commands that a click copies', async () => {
  await using world = await UiWorld.open()
  const { holder, id } = await world.startRecorded('Nightly import', [{ text: 'one' }, { text: 'two' }])
  await holder.tell({ do: 'slot', name: 'plan', value: { next: 'charge order 7' } })
  await holder.tell({ do: 'close' })
  const page = await world.openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
  await goTo(page, `#/sessions/${id}`)
  await page.locator('.slot summary').click()
  expect(await page.textContent('.slot')).toContain('charge order 7')
  for (const [label, command] of [
    ['Copy resume', `stint run --session ${id}`],
    ['Copy fork', `stint sessions fork ${id}`],
  ] as const) {
    await page.locator('button', { hasText: label }).click()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(command)
  }
  expect(world.browser.faults).toEqual([])
})
