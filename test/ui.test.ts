import { expect, test } from 'vitest'
import { chromiumPath } from './support/chromium.ts'
import { killNow, UiWorld } from './support/ui-world.ts'

// The short form of `npm run test:ui`, where Chromium is installed.
test.runIf(chromiumPath !== undefined)(
  'the page shows a session at work and its crash without a reload, and agents’ text as text',
  async () => {
    await using world = await UiWorld.open()
    const title = '<img src=x onerror="document.title=1">\u202e'
    const { holder, id } = await world.startRecorded(title, [{ text: 'order 7 is priced' }])
    const page = await world.openPage()
    const tile = page.locator(`.tile[data-session="${id}"]`)
    await tile.waitFor()
    expect(await tile.textContent()).toContain(String.raw`<img src=x onerror="document.title=1">\u202e`)
    expect(await page.locator('main img').count()).toBe(0)
    await killNow(holder.running)
    await page.locator(`.tile[data-session="${id}"][data-state="crashed"]`).waitFor()
    await tile.locator('a').click()
    await page.locator('.event', { hasText: 'order 7 is priced' }).waitFor()
    expect(world.browser.faults).toEqual([])
  },
)
