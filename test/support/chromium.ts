import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** Debian's Chromium; undefined where it is not installed. */
export const chromiumPath: string | undefined =
  spawnSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).stdout.trim() || undefined

/** A browser that keeps the errors of its pages. */
export class TestBrowser implements AsyncDisposable {
  readonly #browser: Browser
  readonly #faults: string[] = []

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async launch(): Promise<TestBrowser> {
    // Root has no sandbox; the tests open only their own page.
    const args = ['--no-sandbox', '--disable-lcd-text', '--font-render-hinting=none']
    return new TestBrowser(await chromium.launch({ executablePath: chromiumPath ?? '', args }))
  }

  async open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      timezoneId: 'UTC',
      reducedMotion: 'reduce',
      ...options,
    })
    const page = await context.newPage()
    page.on('pageerror', (error) => this.#faults.push(error.stack ?? error.message))
    page.on('console', (message) => {
      // A refused or lost connection is reported, too; some tests cause one.
      if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text()))
        this.#faults.push(message.text())
    })
    return page
  }

  /** The errors that pages have reported so far: exceptions, and what the content security policy refused. */
  get faults(): readonly string[] {
    return this.#faults
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
  }
}

/** What axe-core finds that keeps people out. */
export async function seriousFaults(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  return (await page.evaluate(`axe.run(document).then(({ violations }) =>
    violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`)) as string[]
}
