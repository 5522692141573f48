import { expect, test } from 'vitest'
import { UiWorld } from '../support/ui-world.ts'

test('every page can be reached and used with the keyboard alone', async () => {
  await using world = await UiWorld.open()
  const words = Array.from({ length: 40 }, (_, index) => ({ text: `order ${index} is priced` }))
  const { id } = await world.startRecorded('Nightly import', words)
  const page = await world.openPage()
  const { keyboard } = page
  /** Presses Tab until the focus is where it should be, and Enter there. */
  const open = async (selector: string): Promise<void> => {
    await expect
      .poll(async () => {
        await keyboard.press('Tab')
        return await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)
      })
      .toBe(true)
    await keyboard.press('Enter')
  }
  for (const title of ['Workspaces', 'Sessions', 'Changes', 'Now']) {
    await open(`nav[aria-label="Pages"] a[href="#/${title.toLowerCase()}"]`)
    await expect.poll(() => page.textContent('h1')).toBe(title)
  }

  await open('nav[aria-label="Pages"] a[href="#/sessions"]')
  await page.waitForSelector('input[type=search]')
  await open('input[type=search]')
  await keyboard.type('order 7 is')
  await keyboard.press('Enter')
  await page.waitForSelector('.hits .row')
  expect(await page.textContent('.hits')).toContain('order 7 is priced')
  await open('.hits .row a')
  await expect.poll(() => page.url()).toMatch(new RegExp(String.raw`#/sessions/${id}\?at=\d+$`))
  await page.waitForSelector('.event.target')
  expect(await page.textContent('.event.target')).toContain('order 7 is priced')
  await open('.event')
  await page.waitForSelector('details[open] .detail pre')
  expect(world.browser.faults).toEqual([])
})

test('an action asks first: without a confirmation, nothing happens', async () => {
  await using world = await UiWorld.open()
  await world.startWorking('holder')
  const page = await world.openPage()
  const { keyboard } = page
  const holders = (): string[] => world.claims.map(({ session_id }) => session_id)
  const openDialog = async (): Promise<void> => {
    await page.locator('.tile button', { hasText: 'Break claim' }).focus()
    await keyboard.press('Enter')
    await page.waitForSelector('dialog[open] textarea')
  }
  await openDialog()
  await keyboard.press('Escape')
  expect(holders()).toEqual(['holder'])

  await openDialog()
  await page.locator('dialog textarea').focus()
  await keyboard.type('lunch is over')
  await keyboard.press('Tab')
  await keyboard.press('Tab')
  await keyboard.press('Enter')
  await expect.poll(holders).toEqual([])
  await page.waitForSelector('.row[data-state="break"]')
  expect(await page.textContent('.row[data-state="break"]')).toContain('lunch is over')
})
