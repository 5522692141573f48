import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { seriousFaults } from '../support/chromium.ts'
import { UiWorld } from '../support/ui-world.ts'

/** A world whose workspace is a git repository, in which two sessions have changed one file. */
async function openWorld(): Promise<UiWorld> {
  const world = await UiWorld.open()
  execFileSync('git', ['init', '-q', world.workspace])
  writeFileSync(join(world.workspace, 'list'), Array.from({ length: 12 }, (_, at) => `line ${at}\n`).join(''))
  await work(world, 'first', 'sed -i "s/line 1$/line ONE/" list; seq 1000 > long.txt; printf "\\\\0" > bin')
  await work(world, 'second', 'sed -i "s/line 9/line NINE/" list; mv long.txt longer.txt; printf x >> bin')
  return world
}

const work = async (world: UiWorld, session: string, script: string): Promise<void> => {
  const args = ['run', '--lock', '--session', session, '--purpose', `the work of ${session}`]
  const { code } = await world.stint([...args, '--', 'sh', '-c', script], { cwd: world.workspace })
  expect(code).toBe(0)
}

const list = (world: UiWorld): string => readFileSync(join(world.workspace, 'list'), 'utf8')

async function showChanges(page: Page): Promise<void> {
  await page.evaluate(`location.hash = '#/changes'`)
  await page.waitForSelector('[data-change]')
}

test('the changes of real sessions are shown with their diffs, on small and large screens, to everybody', async () => {
  await using world = await openWorld()
  for (const [width, colorScheme] of [
    [390, 'dark'],
    [1280, 'light'],
  ] as const) {
    const page = await world.openPage({ viewport: { width, height: 900 }, colorScheme })
    await showChanges(page)
    expect(await page.locator('[data-change]').allTextContents()).toEqual([
      expect.stringContaining('stint run: the work of second'),
      expect.stringContaining('stint run: the work of first'),
    ])
    expect(await seriousFaults(page)).toEqual([])
    await page.click('text=the work of second')
    await page.waitForSelector('.diff')
    expect(await page.textContent('main')).toMatch(/Moved\s*long\.txt → longer\.txt/)
    expect(await page.textContent('.diff .added')).toBe('+line NINE\n')
    expect(await page.textContent('.diff .removed')).toBe('-line 9\n')
    await showChanges(page)
    await page.click('text=the work of first')
    await expect.poll(() => page.textContent('main')).toMatch(/601 more lines/)
    expect(await page.textContent('main')).toContain('A binary file.')
    expect(await seriousFaults(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    await page.context().close()
  }
  expect(world.browser.faults).toEqual([])
})

test('with the keyboard alone, a person sees what an undo would write, undoes it, and takes it back', async () => {
  await using world = await openWorld()
  const page = await world.openPage()
  const { keyboard } = page
  const open = async (text: string): Promise<void> => {
    await expect
      .poll(async () => {
        await keyboard.press('Tab')
        return await page.evaluate('document.activeElement.textContent')
      })
      .toContain(text)
    await keyboard.press('Enter')
  }
  await open('Changes')
  await page.waitForSelector('[data-change]')
  await open('the work of first')
  await page.waitForSelector('.diff')
  await open('Undo…')
  await page.waitForSelector('dialog[open]')
  expect(await page.textContent('dialog')).toContain('bin: it was added, and changed since')
  expect(await page.locator('dialog .main').count()).toBe(0)
  await keyboard.press('Escape')
  const before = list(world)

  await showChanges(page)
  await open('the work of second')
  await page.waitForSelector('.diff')
  await open('Undo…')
  await page.waitForSelector('dialog[open]')
  const shown = (await page.textContent('dialog')) ?? ''
  for (const text of ['list: changed back', 'long.txt: brought back', 'longer.txt: deleted'])
    expect(shown).toContain(text)
  expect(list(world)).toBe(before)
  await open('Write 4 files')
  await expect.poll(() => page.textContent('main')).toContain('stint undo')
  expect(list(world)).toBe(before.replace('NINE', '9'))

  await open('stint undo')
  await page.waitForSelector('.diff')
  await open('Redo…')
  await page.waitForSelector('dialog[open]')
  await open('Write 4 files')
  await expect.poll(() => list(world)).toBe(before)
  expect(world.browser.faults).toEqual([])
})

test('an undo that is no longer what was shown is refused in the dialog', async () => {
  await using world = await openWorld()
  const page = await world.openPage()
  await showChanges(page)
  await page.click('text=the work of second')
  await page.click('text=Undo…')
  await page.waitForSelector('dialog[open]')
  writeFileSync(join(world.workspace, 'longer.txt'), 'changed meanwhile\n')
  await page.click('dialog .main')
  await expect.poll(() => page.textContent('dialog')).toContain('files were changed since the undo was shown')
  expect(list(world)).toContain('line NINE')
})
