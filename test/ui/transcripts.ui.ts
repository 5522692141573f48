import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { seriousFaults } from '../support/chromium.ts'
import { UiWorld } from '../support/ui-world.ts'

const id = '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b06'
const hostile = '<img src=x onerror="document.title=1"> \u202e\u001b[2J'

/** Three hundred messages, of which one has a needle, and a call of a tool. */
const lines = Array.from({ length: 300 }, (_, index) => ({
  type: index % 2 === 0 ? 'user' : 'assistant',
  cwd: '/work/app',
  timestamp: '2026-11-17T10:00:00Z',
  message: {
    content:
      index === 1
        ? [{ type: 'tool_use', name: 'Bash', input: { command: 'npm test' } }]
        : index === 250
          ? 'the needle 7f3a'
          : `message ${index} ${hostile}`,
  },
}))

test('a conversation that its agent has lost is listed, found by its words, and read page by page', async () => {
  await using world = await UiWorld.open()
  const user = join(world.tmp, 'user')
  Object.assign(world.env, { HOME: user, CLAUDE_CONFIG_DIR: '' })
  const path = join(user, `.claude/projects/p/${id}.jsonl`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  await world.stint(['vault', 'sync', '--json'])
  rmSync(path)
  const page = await world.openPage({ viewport: { width: 390, height: 900 } })
  const text = () => page.textContent('main')
  await page.evaluate("location.hash = '#/sessions'")
  await expect.poll(text).toContain('Lost')
  await page.click(`[data-session="${id}"] a`)
  await expect.poll(text).toContain('Claude Code calls Bash')
  expect(await text()).toContain('Copy restore')
  expect(await seriousFaults(page)).toEqual([])
  await page.click('text=Later')
  await expect.poll(text).toContain('message 299')
  await page.click('text=Earlier')
  await expect.poll(text).toContain('message 0 ')
  await page.evaluate("location.hash = '#/sessions?q=the+needle'")
  await page.click('.hits a')
  await expect.poll(() => page.textContent('.said.target')).toContain('the needle 7f3a')
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
  expect(await page.title()).not.toBe('1')
  expect(world.browser.faults).toEqual([])
})
