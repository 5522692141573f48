import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dataOf, errorOf, SessionWorld } from '../../../test/support/session-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'

async function makeAudited(world: SessionWorld): Promise<void> {
  await using session = await world.store.create({ id: 'mine' })
  await session.act({ action: 'shell', subject: 'ls', key: 'k1' }, () => 'listed')
  await session
    .act({ action: 'shell', subject: 'rm x' }, () => Promise.reject(new Error('no such file')))
    .catch(() => {})
  await session.audit({ action: 'approve', subject: 'the plan' })
  await session.audit({ action: 'deploy', subject: 'prod', phase: 'intent', act: 'act_1' })
  await session.append({ type: 'message' })
}

test('show joins intents and outcomes, and lists acts without an outcome as unsettled', async () => {
  await using world = new SessionWorld()
  await makeAudited(world)
  const { acts, total } = dataOf(await world.audit('show', 'mine'))
  expect(total).toBe(4)
  expect(acts).toMatchObject([
    { action: 'shell', subject: 'ls', key: 'k1', state: 'done', duration_ms: expect.any(Number) },
    { action: 'shell', subject: 'rm x', state: 'failed', error: 'no such file' },
    { action: 'approve', state: 'note' },
    { action: 'deploy', state: 'unsettled', act: 'act_1' },
  ])
  for (const limit of ['1', '0']) {
    const limited = dataOf(await world.audit('show', 'mine', '--limit', limit))
    expect(limited.acts).toMatchObject([{ action: 'deploy' }])
  }
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; stint audit show mine')
  await terminal.shows(
    /failed in \d+m?s {2}shell {2}rm x {2}\(no such file\)\n[^]*unsettled {2}deploy {2}prod\n\[0\]/,
  )
})

test('show selects acts by time and outcome', async () => {
  await using world = new SessionWorld()
  await makeAudited(world)
  const subjects = async (...args: string[]): Promise<string[]> =>
    dataOf(await world.audit('show', 'mine', ...args)).acts.map(({ subject }: { subject: string }) => subject)
  expect(await subjects()).toEqual(['ls', 'rm x', 'the plan', 'prod'])
  expect(await subjects('--failed')).toEqual(['rm x'])
  expect(await subjects('--since', '1h')).toHaveLength(4)
  expect(await subjects('--since', '0s')).toEqual([])
  expect(await subjects('--limit', '2')).toEqual(['the plan', 'prod'])
  expect(dataOf(await world.audit('show', 'mine', '--limit', '1', '--all')).acts).toHaveLength(4)
  expect(errorOf(await world.audit('show', 'mine', '--since', 'yesterday'))?.code).toBe('ARG_ERROR')
  expect(errorOf(await world.audit('show', '..'))?.code).toBe('SESSION_ID_INVALID')
  expect(errorOf(await world.audit('show', 'gone'))?.code).toBe('NOT_FOUND')
})

const changes: [string, (lines: string[]) => string[]][] = [
  ['changed', (lines) => lines.map((line, i) => (i === 2 ? line.replace('rm x', 'rm y') : line))],
  ['removed', (lines) => lines.filter((_, i) => i !== 2)],
  ['moved', ([a = '', b = '', ...rest]) => [b, a, ...rest]],
  ['cut off', (lines) => lines.slice(0, -1)],
]
test.each(changes)('verify and show report a line that was %s', async (_, change) => {
  await using world = new SessionWorld()
  await makeAudited(world)
  const whole = dataOf(await world.audit('verify', 'mine'))
  expect(whole).toMatchObject({ lines: 6, state: 'whole', head: expect.stringMatching(/^[0-9a-f]{64}$/) })
  const log = world.path('mine', 'audit/audit.log')
  writeFileSync(log, `${change(readFileSync(log, 'utf8').trimEnd().split('\n')).join('\n')}\n`)
  for (const command of ['verify', 'show']) {
    const result = await world.audit(command, 'mine')
    expect([result.code, errorOf(result)?.code], command).toEqual([4, 'AUDIT_CORRUPT'])
    expect(dataOf(result)).toMatchObject({ session_id: 'mine' })
  }
})
