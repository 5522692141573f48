import { expect, test } from 'vitest'
import { killNow, UiWorld } from '../support/ui-world.ts'
import { startSession } from '../support/hook-sessions.ts'
import { until } from '../support/world.ts'

test('sessions appear as they work, wait and crash, without a reload', async () => {
  await using world = await UiWorld.open()
  const page = await world.openPage()
  await expect.poll(() => page.textContent('.empty')).toContain('No agent is at work')

  const working = await world.startWorking('first-session')
  const tile = (state: string) => page.locator(`.tile[data-state="${state}"]`)
  await tile('working').waitFor()
  expect(await tile('working').textContent()).toContain('Claude Code')

  world.startStint(['run', '--lock', '--wait', '10m', '--session', 'waiter', '--', 'true'], {
    cwd: world.workspace,
  })
  await tile('waiting').waitFor()
  expect(await tile('waiting').textContent()).toContain('held by first-session')

  const { holder, id } = await world.startRecorded('Nightly import', [{ text: 'step 1' }])
  await page.locator(`.tile[data-session="${id}"]`).waitFor()
  await killNow(holder.running)
  await page.locator(`.tile[data-session="${id}"][data-state="crashed"]`).waitFor()
  expect(await page.locator('.tile').first().getAttribute('data-session')).toBe(id)
  await expect.poll(() => page.title()).toBe('(1) stint')

  await killNow(working)
  await page.locator('.tile[data-session="first-session"][data-state="crashed"]').waitFor()
  expect(world.browser.faults).toEqual([])
})

test('a refused call appears without a reload', async () => {
  await using world = await UiWorld.open()
  await world.startWorking('holder')
  const page = await world.openPage()
  const refusals = page.locator('.row[data-state="refusal"]')
  expect(await refusals.count()).toBe(0)
  const refused = startSession(world, 'refused', { calls: 1 })
  await refusals.waitFor()
  expect(await refusals.textContent()).toContain('holder holds it')
  await killNow(refused)
})

test('a hidden tab asks for nothing, and a shown one asks again', async () => {
  await using world = await UiWorld.open()
  const page = await world.openPage()
  let asked = 0
  page.on('request', () => void (asked += 1))
  const show = (state: 'hidden' | 'visible'): Promise<unknown> =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
      Object.defineProperty(document, 'hidden', { value: ${state === 'hidden'}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))`)
  await show('hidden')
  let before = asked
  // A shown tab would have asked again from one look to the next.
  const isQuiet = (): boolean => {
    const wasAsked = asked - before
    before = asked
    return wasAsked === 0
  }
  await new Promise((resolve) => setTimeout(resolve, 2500))
  await expect.poll(isQuiet, { interval: 2500 }).toBe(true)
  await show('visible')
  await until('it asks again', () => asked > before)
  await expect.poll(() => page.textContent('.connection')).toBe('live')
})

test('the page says that the server is gone, and that the next one needs a new address', async () => {
  await using world = await UiWorld.open()
  const page = await world.openPage()
  const { port } = new URL(page.url())
  if (world.server !== undefined) await killNow(world.server)
  await expect.poll(() => page.textContent('.connection'), { timeout: 10_000 }).toBe('not connected')
  world.server = undefined
  const again = await world.address('--port', port)
  // The secret of the last run opens nothing: the tab says what to do.
  await expect.poll(() => page.textContent('main'), { timeout: 20_000 }).toContain('This tab has no access')
  expect(await page.textContent('.command code')).toBe('stint ui')
  await page.goto('about:blank')
  await page.goto(again)
  await page.waitForSelector('.top')
})
