import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dataOf, errorOf, jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
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

test('query selects the newest lines by time, action, type, key and outcome', async () => {
  await using world = new SessionWorld()
  await makeAudited(world)
  const seqs = async (...args: string[]): Promise<number[]> =>
    dataOf(await world.audit('query', 'mine', ...args)).lines.map(({ seq }: { seq: number }) => seq)
  expect(await seqs()).toEqual([1, 2, 3, 4, 5, 6])
  expect(await seqs('--action', 'shell')).toEqual([1, 2, 3, 4])
  expect(await seqs('--action', 'shell', '--limit', '2')).toEqual([3, 4])
  expect(await seqs('--type', 'intent')).toEqual([1, 3, 6])
  expect(await seqs('--key', 'k1')).toEqual([1, 2])
  expect(await seqs('--failed')).toEqual([4])
  expect(await seqs('--since', '1h')).toHaveLength(6)
  expect(await seqs('--since', '0s')).toEqual([])
  expect(dataOf(await world.audit('query', 'mine', '--limit', '0'))).toMatchObject({ matching: 6, lines: [] })
  expect(errorOf(await world.audit('query', 'mine', '--since', 'yesterday'))?.code).toBe('ARG_ERROR')
  expect(errorOf(await world.audit('query', '..'))?.code).toBe('SESSION_ID_INVALID')
  expect(errorOf(await world.audit('query', 'gone'))?.code).toBe('NOT_FOUND')
})

const changes: [string, (lines: string[]) => string[]][] = [
  ['changed', (lines) => lines.map((line, i) => (i === 2 ? line.replace('rm x', 'rm y') : line))],
  ['removed', (lines) => lines.filter((_, i) => i !== 2)],
  ['moved', ([a = '', b = '', ...rest]) => [b, a, ...rest]],
  ['cut off', (lines) => lines.slice(0, -1)],
]
test.each(changes)('verify, show and query report a line that was %s', async (_, change) => {
  await using world = new SessionWorld()
  await makeAudited(world)
  const whole = dataOf(await world.audit('verify', 'mine'))
  expect(whole).toMatchObject({ lines: 6, state: 'whole', head: expect.stringMatching(/^[0-9a-f]{64}$/) })
  const log = world.path('mine', 'audit/audit.log')
  writeFileSync(log, `${change(readFileSync(log, 'utf8').trimEnd().split('\n')).join('\n')}\n`)
  for (const command of ['verify', 'show', 'query']) {
    const result = await world.audit(command, 'mine')
    expect([result.code, errorOf(result)?.code], command).toEqual([4, 'AUDIT_CORRUPT'])
    expect(dataOf(result)).toMatchObject({ session_id: 'mine' })
  }
})

test('query --all prints the lines of all sessions as text or JSON lines, with the same filters', async () => {
  await using world = new SessionWorld()
  await makeAudited(world)
  await using other = await world.store.create({ id: 'other' })
  await other.audit({ action: 'mail', subject: '=cmd("x"), then\nmore', detail: { to: 'ada' } })
  await other.close()
  const query = (...args: string[]) => world.stint(['audit', 'query', '--all', ...args])
  const objects = jsonLines((await query('--json')).stdout)
  expect(objects.map(({ session_id, seq }) => session_id + seq)).toEqual([
    'other1',
    ...[1, 2, 3, 4, 5, 6].map((seq) => `mine${seq}`),
  ])
  const failed = jsonLines((await query('--failed', '--json')).stdout)
  expect(failed).toMatchObject([{ session_id: 'mine', action: 'shell', ok: false }])
  expect(jsonLines((await query('--key', 'k1', '--json')).stdout)).toHaveLength(2)
  const limited = jsonLines((await query('--limit', '1', '--json')).stdout)
  expect(limited.map(({ session_id, seq }) => session_id + seq)).toEqual(['other1', 'mine6'])
  const text = await world.stint(['audit', 'query', '--all', '--action', 'mail'], {
    env: { STINT_OUTPUT: 'text' },
  })
  expect(text.stdout).toMatch(/^other  1  [^]*mail/)
  expect((await query('mine')).code).toBe(2)
})

test('query --all goes on after a damaged log, and then fails', async () => {
  await using world = new SessionWorld()
  await makeAudited(world)
  world.damage('mine', 3, 'audit/audit.log')
  await using other = await world.store.create({ id: 'older' })
  await other.audit({ action: 'mail' })
  await other.close()
  const { code, stdout, stderr } = await world.stint(['audit', 'query', '--all', '--json'])
  expect([code, jsonLines(stdout).length]).toEqual([4, 3])
  expect(stderr).toContain('mine: line 3 is missing or changed')
  expect(stderr).toContain('AUDIT_CORRUPT')
})
