import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HookWorld } from '../../../test/support/hook-host.ts'
import { startSession } from '../../../test/support/hook-sessions.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { postgresWorld } from '../../../test/support/postgres-world.ts'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { UiClient } from '../../../test/support/ui-client.ts'
import { until } from '../../../test/support/world.ts'

interface Tile {
  session_id: string
  state: string
  doing?: unknown
}

const stateOf = ({ tiles }: { tiles: Tile[] }, id: string): string | undefined =>
  tiles.find(({ session_id }) => session_id === id)?.state

test('an agent that works, another that is refused, and a kill -9 are shown', async () => {
  await using world = new HookWorld()
  const ui = await UiClient.start(world)
  const views = ui.views()
  const until = async (fits: (now: { tiles: Tile[]; incidents: { kind: string }[] }) => unknown) => {
    for (;;) {
      const { value, done } = await views.next()
      if (done) throw new Error('there are no more views')
      if (fits(value)) return value
    }
  }
  await until(({ tiles }) => tiles.length === 0)
  const agent = startSession(world, 'working-agent', { calls: 1, hang: 600 })
  // The claim is there before the command that it is for.
  const working = await until(({ tiles }) => tiles[0]?.state === 'working' && tiles[0].doing !== null)
  expect(working.tiles[0]).toMatchObject({
    agent: 'Claude Code',
    doing: expect.stringMatching(/^runs `.*` \(pid \d+\)$/),
  })
  await world.hook('claude', 'pre', { session: 'refused-agent' })
  const refused = await until(({ incidents }) => incidents.length > 0)
  expect(refused.incidents[0]).toMatchObject({
    kind: 'refusal',
    session_id: 'refused-agent',
    by: 'working-agent',
    name: world.workspace,
  })
  agent.child.kill('SIGKILL')
  await until((now) => stateOf(now, 'working-agent') === 'crashed')
  await views.return(undefined)
})

test('a recorded session that is killed is shown as crashed', async () => {
  await using world = new SessionWorld()
  const holding = await world.hold('ses_writer', 'write a report')
  await holding.write(1)
  const ui = await UiClient.start(world)
  const views = ui.views()
  const first = (await views.next()).value
  expect(stateOf(first, 'ses_writer')).toBe('working')
  holding.child.kill('SIGKILL')
  let state: string | undefined
  while (state !== 'crashed') state = stateOf((await views.next()).value, 'ses_writer')
  await views.return(undefined)
})

/** How often the server's main thread has waited for something: an idle process does not change it. */
const waits = (pid: number): number =>
  Number(/voluntary_ctxt_switches:\t(\d+)/.exec(readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8'))?.[1])

/** For how long the main thread waits for events at most, in milliseconds: epoll_wait(2), argument 4. */
const waitsForMs = (pid: number): number => {
  const timeout = Number(readFileSync(`/proc/${pid}/syscall`, 'utf8').split(' ')[4])
  return timeout === 0xffffffff ? Infinity : timeout
}

test('without a page the server does nothing, also after one was there', async () => {
  await using world = new SessionWorld()
  const holding = await world.hold('ses_writer')
  const ui = await UiClient.start(world)
  const { pid } = ui.running
  let seen = 0
  /** Without work since the last look here, and without a timer that ends within a minute. */
  const isQuiet = (): boolean => {
    const before = seen
    seen = waits(pid)
    return seen === before && waitsForMs(pid) > 60_000
  }
  await until('the server is quiet before the first page', isQuiet)
  const views = ui.views()
  await views.next()
  await views.return(undefined)
  await until('the server is quiet after the page is gone', isQuiet)
  await holding.close()
})

test('a refusal and a broken claim on a PostgreSQL server are shown, with the name of the place', async () => {
  await using server = await PostgresServer.start()
  await using world = await postgresWorld(server)
  const resource = ['--resource', 'deploy']
  expect((await world.stint(['lock', 'acquire', ...resource, '--session', 'holder'])).code).toBe(0)
  const ui = await UiClient.start(world)
  const views = ui.views()
  const next = async (kind: string) => {
    for (;;) {
      const { value, done } = await views.next()
      if (done) throw new Error('there are no more views')
      const found = value.incidents.find((incident: { kind: string }) => incident.kind === kind)
      if (found !== undefined) return { found, now: value }
    }
  }
  expect((await world.stint(['lock', 'acquire', ...resource, '--session', 'second'])).code).not.toBe(0)
  const { found, now } = await next('refusal')
  expect(found).toMatchObject({ session_id: 'second', by: 'holder', name: 'deploy' })
  const { key, fence } = now.tiles[0].holds[0]
  await ui.read('/api/actions/break', { key, session_id: 'holder', fence, reason: 'at lunch' })
  expect((await next('break')).found).toMatchObject({
    session_id: 'holder',
    reason: 'at lunch',
    name: 'deploy',
  })
  await views.return(undefined)
  expect(await ui.read(`/api/workspace?key=${key}`)).toMatchObject({ name: 'deploy', store: 'postgres' })
})
