import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookEvent, HookWorld } from '../../test/support/hook-host.ts'
import { dataOf } from '../../test/support/lock-world.ts'
import type { HookChoices } from './options.ts'

/** The user enters a prompt, and the agent makes its first call. */
async function work(world: HookWorld, prompt: string, choices: HookChoices = {}) {
  const input = JSON.stringify({ ...hookEvent('claude', 'prompt', { cwd: world.workspace }), prompt })
  await world.hook('claude', 'prompt', { input, choices })
  await world.hook('claude', 'pre', { choices })
}

test('a refusal says which agent holds the workspace, where, and what it was asked to do', async () => {
  await using world = new HookWorld()
  Object.assign(world.env, { TMUX_PANE: '%5', HOME: world.tmp })
  await work(world, 'tidy up\n the routes')
  const { reason } = await world.hook('codex', 'pre', { session: 'other' })
  expect(reason).toMatch(
    /That session \(Claude Code in .*tmux %5.*, ~\/work: “tidy up the routes”\) has held/,
  )
  const status = await world.lock(['status'])
  expect(dataOf(status).claims).toMatchObject([
    {
      origin: {
        agent: 'Claude Code',
        tmux_pane: '%5',
        directory: world.workspace,
        prompt: 'tidy up the routes',
        hostname: expect.any(String),
        user: expect.any(String),
      },
    },
  ])
})

test('a new prompt replaces the words in a claim that stands; the end of the session forgets them', async () => {
  await using world = new HookWorld()
  const choices: HookChoices = { hold: 'session' }
  await work(world, 'first', choices)
  await work(world, 'second', choices)
  expect(world.claims[0]?.origin?.prompt).toBe('second')
  await world.hook('claude', 'end', { choices })
  expect(readdirSync(join(world.home, 'prompts'))).toEqual([])
})

test('with --no-prompts, no word of a prompt is kept', async () => {
  await using world = new HookWorld()
  await work(world, 'private words', { prompts: false })
  expect(world.claims[0]?.origin).toMatchObject({ agent: 'Claude Code' })
  expect(world.claims[0]?.origin).not.toHaveProperty('prompt')
  expect(readdirSync(world.home)).not.toContain('prompts')
})

test('no secret of the environment reaches a file in the words of a prompt', async () => {
  await using world = new HookWorld()
  world.env.DEPLOY_TOKEN = 'correct-horse-battery'
  await work(world, 'deploy with correct-horse-battery now')
  expect(world.claims[0]?.origin?.prompt).toMatch(/^deploy with .* now$/)
  const files = readdirSync(world.home, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  )
  const texts = files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'))
  expect(JSON.stringify([texts, world.claims])).not.toContain('correct-horse')
})

test('the words of others are shown without what a terminal would obey', async () => {
  await using world = new HookWorld()
  await work(world, 'x\u001B]0;pwned\u0007\u202E')
  const { reason } = await world.hook('codex', 'pre', { session: 'other' })
  expect(reason.trim()).toMatch(/^[^\p{Cc}\p{Cf}]*$/u)
})
