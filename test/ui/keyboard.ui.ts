import { expect, test } from 'vitest'
import { UiWorld } from '../support/ui-world.ts'

test('every page can be reached and used with the keyboard alone', async () => {
  await using world = await UiWorld.open()
  const words = Array.from({ length: 40 }, (_, index) => ({ text: `order ${index} is priced` }))
  const { id } = await world.startRecorded('Nightly import', words)
  const page = await world.openPage()
  const { keyboard } = page
  const heading = () => page.textContent('h1')
  const go = async (letter: string): Promise<void> => {
    await keyboard.press('g')
    await keyboard.press(letter)
  }
  for (const [letter, title] of [
    ['w', 'Workspaces'],
    ['s', 'Sessions'],
    ['a', 'Audit'],
    ['d', 'Disk'],
    ['n', 'Now'],
  ] as const) {
    await go(letter)
    await expect.poll(heading).toBe(title)
  }

  await keyboard.press('?')
  await page.waitForSelector('dialog[open]')
  expect(await page.textContent('dialog[open]')).toContain('next and previous item')
  await keyboard.press('Escape')
  expect(await page.locator('dialog[open]').count()).toBe(0)

  await keyboard.press('/')
  await expect.poll(heading).toBe('Search')
  await keyboard.type('order 7 is')
  await keyboard.press('Enter')
  await page.waitForSelector('.hits .row')
  expect(await page.textContent('.hits')).toContain('order 7 is priced')
  // The keys of a field stay in it.
  await keyboard.press('Escape')
  await page.evaluate('document.activeElement.blur()')
  await keyboard.press('j')
  await keyboard.press('Enter')
  await expect.poll(() => page.url()).toMatch(new RegExp(String.raw`#/sessions/${id}\?at=\d+$`))
  await page.waitForSelector('.event.target')
  expect(await page.textContent('.event.target')).toContain('order 7 is priced')

  await go('s')
  await page.waitForSelector('tbody tr')
  await keyboard.press('j')
  await keyboard.press('Enter')
  await page.waitForSelector('.event')
  for (let step = 0; step < 6; step++) await keyboard.press('k')
  await keyboard.press('Enter')
  await page.waitForSelector('.detail')
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

test('with --read-only, no page offers an action', async () => {
  await using world = await UiWorld.open()
  await world.startWorking('holder')
  await world.address('--read-only')
  const page = await world.openPage()
  await page.waitForSelector('.tile')
  expect(await page.textContent('.status-line')).toContain('read only')
  expect(await page.locator('.tile button').count()).toBe(0)
})
