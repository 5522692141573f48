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

/** Moments of one page, in milliseconds since it was asked for. */
interface Moments {
  document: number
  script: number
  secret: number
  stream: number
  tiles: number
  painted: number
}

/** Opens the page, and waits until a frame with tiles is on the screen. */
async function openTimed(browser: TestBrowser, url: string): Promise<Moments> {
  const page = await browser.open()
  await page.addInitScript(`{
    const moments = (window.moments = {})
    const { fetch } = window
    window.fetch = (path, options) => {
      if (path.startsWith('/api/now/stream')) moments.stream ??= performance.now()
      return fetch(path, options)
    }
    new MutationObserver((_changes, observer) => {
      if (document.querySelector('.tile') === null) return
      observer.disconnect()
      moments.tiles = performance.now()
      requestAnimationFrame(() => requestAnimationFrame(() => (moments.painted = performance.now())))
    }).observe(document, { childList: true, subtree: true })
  }`)
  await page.goto(url)
  const moments = (await page.evaluate(`new Promise((resolve) => {
    const endOf = (name) => performance.getEntriesByType('resource').find((each) => each.name.endsWith(name))?.responseEnd
    const look = () => {
      if (moments.painted === undefined) return setTimeout(look, 5)
      const [{ responseEnd }] = performance.getEntriesByType('navigation')
      resolve({ document: responseEnd, script: endOf('/page.js'), secret: endOf('/api/token'), ...moments })
    }
    look()
  })`)) as Moments
  await page.context().close()
  return moments
}

/** The median of each moment. */
const shownMoments = (all: readonly Moments[]): string =>
  (['document', 'script', 'secret', 'stream', 'tiles', 'painted'] as const)
    .map((name) => `${name} ${median(all.map((each) => each[name])).toFixed(0)}`)
    .join(', ')

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

test('with 10,000 sessions, 200 claims and 1,000,000 events the page is quick, cheap and small', async () => {
  await using world = new SessionWorld({}, existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
  await makeManySessions(world, 10_000)
  const { id, records } = await makeLargeSession(world.home, 170e6, 20)
  expect(records).toBeGreaterThan(1_000_000)
  await holdWorkspaces(world, 200)
  const ui = await UiClient.start(world)
  const { pid } = ui.running
  await using browser = await TestBrowser.launch()
  const [views, statuses]: [number[], number[]] = [[], []]
  const pages: Moments[] = []
  for (let round = 0; round < 7; round++) {
    pages.push(await openTimed(browser, (await ui.read('/api/token', {})).url))
    statuses.push(await timed(() => world.stint(['status', '--json'])))
    views.push(await timed(() => ui.read('/api/now')))
  }
  const paint = median(pages.map(({ painted }) => painted))
  const now = await ui.read('/api/now')
  expect([now.tiles.length, now.totals.closed]).toEqual([200, 10_001])

  // Asks as often as a page that is shown.
  const asking = setInterval(() => void ui.read('/api/now'), 2000)
  await pause(5000)
  const [cpu, from] = [cpuMs(pid), performance.now()]
  await pause(30_000)
  const share = (cpuMs(pid) - cpu) / (performance.now() - from)
  clearInterval(asking)

  const before = peakMiB(pid)
  let seen = 0
  for (let end = records + 1; end > 1; end -= 1000) {
    const { events } = await ui.read(`/api/sessions/${id}/events?before=${end}&limit=1000`)
    seen += events.length
  }
  const grown = peakMiB(pid) - before
  console.log(
    `a page: ${shownMoments(pages)} ms; ` +
      `the server's answer ${median(views).toFixed(0)} ms, stint status ${median(statuses).toFixed(0)} ms; ` +
      `${(100 * share).toFixed(2)} % of a core with one page; ${seen} events in pages took ${grown.toFixed(0)} MiB more`,
  )
  expect(seen).toBe(records)
  expect(paint).toBeLessThan(2 * median(statuses))
  expect(share).toBeLessThan(0.1)
  expect(grown).toBeLessThan(100)
})
