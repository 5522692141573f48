import { expect, test } from 'vitest'
import { UiWorld } from '../support/ui-world.ts'

const markup = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
const hostile = `${markup}\u001b[2J\u202ereversed\u0000${'long '.repeat(200_000)}`

test('a hostile title, purpose and event are text: no markup, no escapes, no reversal, not endless', async () => {
  await using world = await UiWorld.open()
  const title = hostile.slice(0, 900)
  const { holder, id } = await world.startRecorded(title, [{ text: hostile }, { [markup]: hostile }])
  await holder.tell({ do: 'act', key: 'once', subject: title })
  await world.lock(['acquire', '--session', 'hostile', '--purpose', title.replaceAll('\0', '')])
  const page = await world.openPage()
  await page.waitForSelector(`.tile[data-session="${id}"]`)
  for (const hash of [
    '#/now',
    `#/workspaces/${world.key}`,
    '#/sessions',
    `#/sessions/${id}`,
    `#/sessions/${id}?at=1`,
    '#/sessions?q=onerror',
  ]) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await expect.poll(() => page.textContent('main'), { timeout: 20_000 }).toContain('onerror')
    const seen = (await page.evaluate(`({
      text: document.body.textContent,
      injected: document.querySelectorAll('body script, main img, [onerror]').length,
      wide: document.documentElement.scrollWidth > innerWidth,
    })`)) as { text: string; injected: number; wide: boolean }
    expect(seen.injected, hash).toBe(0)
    expect(seen.wide, hash).toBe(false)
    expect(seen.text, hash).not.toMatch(/(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u)
    expect(seen.text.length, hash).toBeLessThan(100_000)
  }
  await page.locator('.event, .row').first().click()
  expect(await page.title()).not.toBe('1')
  expect(world.browser.faults).toEqual([])
})
