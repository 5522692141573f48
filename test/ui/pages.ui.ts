import { expect, test } from 'vitest'
import { seriousFaults } from '../support/chromium.ts'
import { killNow, UiWorld } from '../support/ui-world.ts'

/** A scene with all that the pages show, made by real processes. */
async function playScene(world: UiWorld): Promise<string> {
  const working = await world.startWorking('first-session')
  world.startStint(['run', '--lock', '--wait', '10m', '--session', 'waiter', '--', 'true'], {
    cwd: world.workspace,
  })
  await world.hook('claude', 'pre', { session: 'third', cwd: world.workspace })
  const { holder, id } = await world.startRecorded('Nightly import', [{ text: 'order 1207 is priced' }])
  holder.running.child.send({ do: 'act', key: 'charge 1207', forever: true })
  await holder.answer()
  await killNow(holder.running)
  void working
  return id
}

test('each page shows what real processes have done, and axe-core finds nothing serious in either theme', async () => {
  await using world = await UiWorld.open()
  const id = await playScene(world)
  const expected: Record<string, string[]> = {
    '#/now': ['Working', 'Crashed', 'held by first-session', 'Refused', 'Nightly import'],
    '#/workspaces': [world.workspace],
    [`#/workspaces/${world.key}`]: ['first-session', 'Waiting', 'may not change', 'Refused'],
    '#/sessions': ['Nightly import', 'Crashed'],
    [`#/sessions/${id}`]: ['order 1207 is priced', 'without an outcome', 'No outcome', 'Copy resume'],
    '#/sessions?q=1207': ['order 1207 is priced', '1 found'],
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await world.openPage({ colorScheme })
    for (const [hash, texts] of Object.entries(expected)) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
      for (const text of texts)
        await expect
          .poll(() => page.textContent('main'), { timeout: 10_000, message: `${hash}: ${text}` })
          .toContain(text)
      expect(await seriousFaults(page), `${hash}, ${colorScheme}`).toEqual([])
    }
    await page.context().close()
  }
  expect(world.browser.faults).toEqual([])
})

test('every page fits on a screen of 390 and of 2,560 pixels', async () => {
  await using world = await UiWorld.open()
  const id = await playScene(world)
  for (const width of [390, 2560]) {
    const page = await world.openPage({ viewport: { width, height: 900 } })
    for (const hash of [
      '#/now',
      `#/workspaces/${world.key}`,
      '#/sessions',
      `#/sessions/${id}`,
      '#/sessions?q=1207',
    ]) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
      await page.waitForSelector('h1')
      expect(
        await page.evaluate('document.documentElement.scrollWidth'),
        `${hash} at ${width}`,
      ).toBeLessThanOrEqual(width)
    }
    await page.context().close()
  }
})

test('a crashed session is closed, then moved to the trash, from its page', async () => {
  await using world = await UiWorld.open()
  const { holder, id } = await world.startRecorded('Nightly import', [{ text: 'one' }])
  await killNow(holder.running)
  const page = await world.openPage()
  await page.evaluate(`location.hash = '#/sessions/${id}'`)
  const confirm = async (verb: string): Promise<void> => {
    await page.locator('.tools button', { hasText: verb }).click()
    await page.locator('dialog[open] button.main').click()
  }
  await confirm('Close')
  await page.locator('.head .state', { hasText: 'Closed' }).waitFor()
  await confirm('Move to trash')
  await page.waitForSelector('text=No session here.')
  const listed = await world.stint(['sessions', 'list'])
  expect(listed.envelope().data).toMatchObject({ sessions: [] })
})
