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
  expect(reason).toMatch(/ Claude Code in tmux %5 has worked here for .* \("tidy up the routes"\)/)
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
  const kept = readFileSync(join(world.home, 'prompts', 'session-a'), 'utf8')
  expect(kept).not.toContain('private')
})

const secret = 'correct "horse"/battery'
const token = `gh${'p_'}${'Ab3dEf9hIj'.repeat(4)}`

test.each([
  ['as it is', secret],
  ['in a URL', encodeURIComponent(secret)],
  ['in JSON', JSON.stringify(JSON.stringify(secret)).slice(1, -1)],
  ['in base64', Buffer.from(`user:${secret}`).toString('base64')],
  ['in hex', Buffer.from(secret).toString('hex')],
  ['that looks like a token', token],
])('no secret %s reaches a file in a prompt or a description', async (_, written) => {
  await using world = new HookWorld()
  world.env.DEPLOY_TOKEN = secret
  await work(world, `deploy with ${written} now`)
  expect(world.claims[0]?.origin?.prompt).toMatch(/^deploy with .* now$/)
  const event = hookEvent('claude', 'pre', { cwd: world.workspace })
  const described = { command: 'deploy', description: `Deploy with ${written}` }
  await world.hook('claude', 'pre', { input: JSON.stringify({ ...event, tool_input: described }) })
  await world.hook('codex', 'pre', { session: 'other' })
  const files = readdirSync(world.home, { recursive: true, withFileTypes: true }).filter((each) =>
    each.isFile(),
  )
  const texts = files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1')).join('\n')
  const claims = world.claims.map((claim) => JSON.stringify(claim)).join('\n')
  expect(claims).toMatch(/deploy with .*<(?:secret:env:DEPLOY_TOKEN|masked:github-token)>/)
  for (const part of [secret, written, 'correct', token]) expect(texts + claims).not.toContain(part)
})

test('the words of others are shown without what a terminal would obey', async () => {
  await using world = new HookWorld()
  await work(world, 'x\u001B]0;pwned\u0007\u202E')
  const { reason } = await world.hook('codex', 'pre', { session: 'other' })
  expect(reason.trim()).toMatch(/^[^\p{Cc}\p{Cf}]*$/u)
})
