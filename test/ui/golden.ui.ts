import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TestBrowser } from '../support/chromium.ts'
import { startSampleServer } from '../support/ui-sample-server.ts'
import {
  sampleAt,
  sampleChange,
  sampleChanges,
  sampleEvents,
  sampleNow,
  sampleSession,
  sampleSessions,
  sampleTranscript,
  sampleUndo,
  sampleWorkspace,
  sampleWorkspaces,
} from '../support/ui-sample.ts'
import { projectRoot } from '../support/world.ts'

const golden = join(projectRoot, 'test/ui/golden')
/** The share of pixels that may differ clearly: versions of Chromium draw letters differently. */
const tolerance = 0.01

const answers = {
  '/api/token': { secret: 'secret' },
  '/api/now': sampleNow,
  '/api/changes': sampleChanges,
  '/api/change': sampleChange,
  '/api/change/undo': sampleUndo,
  '/api/workspaces': sampleWorkspaces,
  '/api/workspace': sampleWorkspace,
  '/api/sessions': sampleSessions,
  [`/api/transcript?id=${sampleTranscript.transcript.id}&limit=200`]: sampleTranscript,
  [`/api/session?id=${sampleSession.session_id}`]: sampleSession,
  '/api/events': sampleEvents,
}

let browser: TestBrowser
let server: Awaited<ReturnType<typeof startSampleServer>>
beforeAll(async () => {
  browser = await TestBrowser.launch()
  server = await startSampleServer(answers)
})
afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  server[Symbol.dispose]()
})

interface Scene {
  name: string
  hash: string
  ready: string
  /** A button to press, which opens a dialog. */
  press?: string
}

const scenes: Scene[] = [
  { name: 'now', hash: '#/now', ready: '.tile' },
  { name: 'workspaces', hash: '#/workspaces', ready: '.row' },
  { name: 'workspace', hash: '#/workspaces/shop', ready: '.lanes rect' },
  { name: 'sessions', hash: '#/sessions', ready: '.row[data-session]' },
  { name: 'session', hash: `#/sessions/${sampleSession.session_id}`, ready: '.event.turn' },
  { name: 'transcript', hash: `#/sessions/${sampleTranscript.transcript.id}`, ready: '.said' },
  { name: 'changes', hash: '#/changes', ready: '.row[data-change]' },
  { name: 'change', hash: '#/changes/shop.k3m9x2v8', ready: '.diff' },
  { name: 'undo', hash: '#/changes/shop.k3m9x2v8', ready: '.tools .danger', press: '.tools .danger' },
]

const shots = [
  ...scenes.map((scene) => ({ ...scene, width: 390, theme: 'light' as const })),
  ...scenes.map((scene) => ({ ...scene, width: 1280, theme: 'dark' as const })),
  ...scenes.slice(0, 1).map((scene) => ({ ...scene, width: 1280, theme: 'light' as const })),
]

test.each(shots)(
  '$name at $width pixels, $theme, looks as it did',
  async ({ name, hash, ready, press, width, theme }) => {
    const page = await browser.open({ viewport: { width, height: 900 }, colorScheme: theme })
    await page.clock.setFixedTime(sampleAt)
    await page.goto(server.url)
    await page.waitForSelector('.tile')
    await page.evaluate(`location.hash = '${hash}'`)
    await page.waitForSelector(ready)
    if (press !== undefined) {
      await page.click(press)
      await page.waitForSelector('dialog[open]')
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    const shot = await page.screenshot()
    const file = join(golden, `${name}-${width}-${theme}.png`)
    if (!existsSync(file)) {
      writeFileSync(file, shot)
      expect.fail(`${file} was made: look at it, and run again`)
    }
    expect(await differingShare(page, shot, readFileSync(file))).toBeLessThan(tolerance)
    await page.context().close()
  },
)

/** The share of pixels of two pictures that differ clearly, counted in the browser. */
const differingShare = async (page: Page, a: Buffer, b: Buffer): Promise<number> =>
  (await page.evaluate(
    `(async () => {
      const pixels = async (text) => {
        const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
        const image = await createImageBitmap(new Blob([bytes]))
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
        context.drawImage(image, 0, 0)
        return context.getImageData(0, 0, image.width, image.height).data
      }
      const [one, two] = [await pixels('${a.toString('base64')}'), await pixels('${b.toString('base64')}')]
      if (one.length !== two.length) return 1
      let differing = 0
      for (let i = 0; i < one.length; i += 4)
        if ([0, 1, 2].some((channel) => Math.abs(one[i + channel] - two[i + channel]) > 40)) differing += 1
      return differing / (one.length / 4)
    })()`,
  )) as number
