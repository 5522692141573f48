import { once } from 'node:events'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { TestBrowser } from './chromium.ts'
import { HookWorld } from './hook-host.ts'
import { startSession } from './hook-sessions.ts'
import { SessionHolder } from './session-holder.ts'
import { type Running, until } from './world.ts'

/** A world with a running `stint ui`, a browser, and processes that do what the page shows. */
export class UiWorld extends HookWorld {
  readonly browser: TestBrowser
  server: Running | undefined

  private constructor(browser: TestBrowser) {
    super()
    this.browser = browser
  }

  static async open(): Promise<UiWorld> {
    return new UiWorld(await TestBrowser.launch())
  }

  /** Starts the server, if it does not run, and returns a new address of the page. */
  async address(...options: string[]): Promise<string> {
    const running = this.startStint(['ui', '--no-open', '--json', ...options])
    await until('stint ui has printed its address', () => {
      const { stdout, stderr } = running.output()
      if (running.child.exitCode !== null && stdout === '') throw new Error(stderr)
      return stdout.includes('\n')
    })
    this.server ??= running
    const [line = ''] = running.output().stdout.split('\n')
    return (JSON.parse(line) as { data: { url: string } }).data.url
  }

  /** Opens the page, and waits until it shows its data. */
  async openPage(options: Parameters<TestBrowser['open']>[0] = {}): Promise<Page> {
    const page = await this.browser.open(options)
    await page.goto(await this.address())
    await page.waitForSelector('.tile, .empty')
    return page
  }

  /** A session of Claude Code whose command runs until it is killed. */
  async startWorking(session: string): Promise<Running> {
    const running = startSession(this, session, { calls: 1, hang: 600 })
    await until(`${session} works`, () => running.output().stdout.includes('hanging'))
    return running
  }

  /** A recorded session, held by a process of its own, with these messages. */
  async startRecorded(
    title: string,
    messages: readonly unknown[],
  ): Promise<{ holder: SessionHolder; id: string }> {
    const holder = await SessionHolder.start(this, this.home)
    const options = { tool: 'import', title, workspace: this.workspace }
    const id = (await holder.tell({ do: 'create', options })) as string
    for (const data of messages) await holder.tell({ do: 'append', type: 'message', data })
    return { holder, id }
  }

  /** Another workspace of this world. */
  makeWorkspace(name: string): string {
    const path = join(realpathSync(this.tmp), name)
    mkdirSync(path)
    return path
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.browser[Symbol.asyncDispose]()
    await super[Symbol.asyncDispose]()
  }
}

/** Kills a process, and waits for its end. */
export async function killNow({ child }: Pick<Running, 'child'>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
