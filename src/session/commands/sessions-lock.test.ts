import { expect, test } from 'vitest'
import { SessionHolder } from '../../../test/support/session-holder.ts'
import { dataOf, errorOf, jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'

test('a second process is refused with the holder, and gets the session at once when the first is killed', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine', 'the first')
  await holder.write(5)
  await expect(world.store.resume('mine')).rejects.toMatchObject({
    code: 'SESSION_LOCKED',
    message: expect.stringContaining(`pid ${holder.pid} (the first)`),
  })
  const refused = await world.run('rm', 'mine', '--yes')
  expect([refused.code, errorOf(refused)]).toMatchObject([4, { code: 'SESSION_LOCKED', retryable: true }])
  expect(errorOf(refused).holder).toMatchObject({ pid: holder.pid, purpose: 'the first' })
  holder.child.kill('SIGKILL')
  await holder.finished
  const second = await world.hold('mine', 'the second')
  await second.write(1)
  expect(dataOf(await world.run('show', 'mine'))).toMatchObject({
    state: 'active',
    records: 6,
    holder: { pid: second.pid, purpose: 'the second' },
  })
})

test('unlock takes a session from a holder that cannot be seen, and nothing that holder writes later is read', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 1)
  const inside = await SessionHolder.startElsewhere(world, world.home)
  await inside.tell({ do: 'resume', id: 'mine', options: { purpose: 'in a container' } })
  expect(dataOf(await world.run('list')).sessions[0]).toMatchObject({
    state: 'locked',
    holder: { liveness: 'unknown' },
  })
  await expect(world.store.resume('mine')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  expect(errorOf(await world.run('unlock', 'min'))?.code).toBe('ARG_ERROR')
  expect(dataOf(await world.run('unlock', 'mine'))).toMatchObject({
    unlocked: true,
    holder: { purpose: 'in a container' },
  })
  expect(dataOf(await world.run('list')).sessions[0]).toMatchObject({ state: 'closed', holder: null })
  expect(dataOf(await world.run('unlock', 'mine', '--yes'))).toMatchObject({ unlocked: false })
  await world.run('append', 'mine', '--type', 'after')
  await expect(inside.tell({ do: 'append', type: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  const events = await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])
  expect(events.stdout).not.toContain('late')
  expect(dataOf(await world.run('verify', 'mine'))).toMatchObject({ damaged: 0 })
})

test.each(['json', 'text'])('unlock warns of acts without an outcome (%s)', async (output) => {
  await using world = new SessionWorld()
  const library = new URL('../../../dist/index.js', import.meta.url).href
  const script = `
    const { filesystemStore } = await import(${JSON.stringify(library)})
    const session = await filesystemStore().create({ id: 'mine' })
    await session.act({ action: 'test' }, () => 'done')
    await session.act({ action: 'shell', subject: 'make "it"' }, () => process.kill(process.pid, 'SIGKILL'))`
  await world.start(process.execPath, ['--input-type=module', '-e', script]).finished
  const warning =
    /^stint sessions unlock: warning: shell "make \\"it\\"" has no outcome: it may have been done \(\S+\)$/m
  const answer = await world.stint(['sessions', 'unlock', 'mine'], { env: { STINT_OUTPUT: output } })
  expect(answer.code).toBe(0)
  if (output === 'text') {
    expect(answer.stderr).toMatch(warning)
    expect(answer.stderr).not.toContain('warning: test')
  } else {
    const unsettled = [{ act: expect.any(String) as string, action: 'shell', subject: 'make "it"' }]
    expect(dataOf(answer)).toMatchObject({ unlocked: true, unsettled })
    expect(JSON.parse(answer.stdout).warnings).toEqual([expect.stringContaining('has no outcome')])
  }
  expect(dataOf(await world.run('unlock', 'mine'))).toMatchObject({ unlocked: false, unsettled: [] })
})

test('many scripts append while a writer comes and goes: each event is there once, or its append has failed', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 0)
  const holder = await world.hold('mine')
  const append = (n: number) => world.run('append', 'mine', '--type', 'note', '--data', String(n))
  const appends = Array.from({ length: 24 }, (_, n) => append(n))
  await holder.write(3)
  await holder.close()
  const written: number[] = []
  for (const [n, answer] of (await Promise.all(appends)).entries())
    if (answer.code === 0) written.push(n)
    else expect(errorOf(answer)?.code).toBe('SESSION_LOCKED')
  expect((await append(24)).code).toBe(0)
  const events = jsonLines((await world.run('tail', 'mine', '-n', 'all', '--type', 'note')).stdout)
  expect(events.map(({ data }) => data as number).toSorted((a, b) => a - b)).toEqual([...written, 24])
})

test('unlock takes only the hold it has shown: a process that took the session meanwhile keeps it', async () => {
  await using world = new SessionWorld()
  const first = await world.hold('mine', 'the first')
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; stint sessions unlock mi')
  await terminal.shows(/the first[^]*Take it\? \[y\/N\]$/)
  first.child.kill('SIGKILL')
  await first.finished
  const second = await world.hold('mine', 'the second')
  terminal.enter('y')
  await terminal.shows(/is held by another process now[^]*\(SESSION_LOCKED\)[^]*\n\[4\] ready>$/)
  await second.write(1)
  expect(dataOf(await world.run('show', 'mine'))).toMatchObject({ holder: { purpose: 'the second' } })
})
