import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { TestBrowser } from '../support/chromium.ts'
import { makeLargeSession } from '../support/large-session.ts'
import { SessionWorld } from '../support/session-world.ts'
import { UiClient } from '../support/ui-client.ts'
import { holdWorkspaces, makeManySessions } from '../support/ui-scene.ts'

/** The processor time of a process so far, in milliseconds. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const peakMiB = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

async function timed(act: () => Promise<unknown>): Promise<number> {
  const before = performance.now()
  await act()
  return performance.now() - before
}

/** The time from the request for the page until a frame with tiles is on the screen, in milliseconds. */
async function paintTime(browser: TestBrowser, url: string): Promise<number> {
  const page = await browser.open()
  await page.addInitScript(`new MutationObserver((_changes, observer) => {
    if (document.querySelector('.tile') === null) return
    observer.disconnect()
    requestAnimationFrame(() => requestAnimationFrame(() => (window.paintedAt = performance.now())))
  }).observe(document, { childList: true, subtree: true })`)
  await page.goto(url)
  const time = (await page.evaluate(`new Promise((resolve) => {
    const look = () => (window.paintedAt === undefined ? setTimeout(look, 5) : resolve(window.paintedAt))
    look()
  })`)) as number
  await page.context().close()
  return time
}

test('with 10,000 sessions, 200 claims and 1,000,000 events the page is quick, cheap and small', async () => {
  await using world = new SessionWorld({}, existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
  await makeManySessions(world, 10_000)
  const { id, records } = await makeLargeSession(world.home, 170e6, 20)
  expect(records).toBeGreaterThan(1_000_000)
  await holdWorkspaces(world, 200)
  const ui = await UiClient.start(world)
  const { pid } = ui.running
  await using browser = await TestBrowser.launch()
  const [paints, views, statuses]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < 7; round++) {
    paints.push(await paintTime(browser, (await ui.read('/api/token', {})).url))
    views.push(await timed(() => ui.read('/api/now')))
    statuses.push(await timed(() => world.stint(['status', '--json'])))
  }
  const now = await ui.read('/api/now')
  expect([now.workspaces.length, now.totals.closed]).toEqual([200, 10_001])

  const lines = ui.lines('/api/now/stream')
  await lines.next()
  await new Promise((resolve) => setTimeout(resolve, 5000))
  const [cpu, from] = [cpuMs(pid), performance.now()]
  await new Promise((resolve) => setTimeout(resolve, 30_000))
  const share = (cpuMs(pid) - cpu) / (performance.now() - from)
  await lines.return(undefined)

  const before = peakMiB(pid)
  let seen = 0
  for (let end = records + 1; end > 1; end -= 1000) {
    const { events } = await ui.read(`/api/sessions/${id}/events?before=${end}&limit=1000`)
    seen += events.length
  }
  const grown = peakMiB(pid) - before
  console.log(
    `first paint with data ${median(paints).toFixed(0)} ms, the server's answer ${median(views).toFixed(0)} ms, ` +
      `stint status ${median(statuses).toFixed(0)} ms; ` +
      `${(100 * share).toFixed(2)} % of a core with one page; ${seen} events in pages took ${grown.toFixed(0)} MiB more`,
  )
  expect(seen).toBe(records)
  expect(median(paints)).toBeLessThan(1.5 * median(statuses))
  expect(share).toBeLessThan(0.01)
  expect(grown).toBeLessThan(100)
})
