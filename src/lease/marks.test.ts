import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { at, empty, granted, only, wants } from '../../test/support/claim-samples.ts'
import { dataOf, LockWorld } from '../../test/support/lock-world.ts'
import { systemClock } from '../base/process/clock.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { uptimeSeconds } from '../base/process/platform.ts'
import type { Claim, ClaimHolder } from './claim-record.ts'
import { claimStatus } from './claim-status.ts'
import { homeRegister } from './file-register.ts'
import { applyMarks, readMarks } from './marks.ts'
import { runSync } from '../base/process/run-generator.ts'
import { type AcquireRequest, decideAcquire, decideRefresh } from './rules.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

const minute = 60_000
const agent = ownIdentity()
const sample = only(granted(empty, wants('a'), at(0)))

/** Claims in a home of the test's own, with a session `a` of an agent that is the test's process. */
class MarkWorld extends LockWorld {
  readonly claims = WorkspaceClaims.open(homeRegister({ STINT_HOME: this.home }), {
    workspace: this.workspace,
  })

  request(sessionId: string, more: Partial<AcquireRequest> = {}): AcquireRequest {
    return {
      sessionId,
      holder: agent,
      paths: ['**'],
      mode: 'exclusive',
      ttlMs: 5 * minute,
      policy: { prompt_hold_ms: 30 * minute, background_ms: 0 },
      ...more,
    }
  }

  /** The session gets the workspace, and a pass for its epoch. */
  hold(more: Partial<AcquireRequest> = {}): number {
    return this.claims.acquireSync(this.request('a', { passUptime: uptimeSeconds(), ...more })).epoch
  }

  mark(line: string, epoch: number, sessionId = 'a', key = this.key): void {
    const directory = join(this.home, 'passes', sessionId)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    appendFileSync(join(directory, `${key}.${epoch}`), line)
  }

  begin(id: string, epoch: number): void {
    this.mark(`+${id} ${(uptimeSeconds() ?? 0).toFixed(2)} ${agent.pid} command\n`, epoch)
  }

  end(id: string, epoch: number): void {
    this.mark(`-${id} ${(uptimeSeconds() ?? 0).toFixed(2)}\n`, epoch)
  }

  get claim(): Claim | undefined {
    return this.claims.readSync().record.claims.find(({ session_id }) => session_id === 'a')
  }

  get calls(): string[] {
    return this.claim?.holders.flatMap(({ calls }) => calls.map(({ id }) => id)) ?? []
  }

  /** Another session, of no process, asks for the workspace. */
  asks(): boolean {
    return this.claims.claimSync(
      (record, observation, fence) => decideAcquire(record, this.foreign, observation, fence),
      { session_id: 'b', pid: null, paths: ['**'], mode: 'exclusive', purpose: null },
    ).answer.granted
  }

  readonly foreign = this.request('b', { holder: null })

  /** The newest record as the register has it. */
  get stored(): string {
    return runSync(this.claims.register, this.claims.register.read(this.key)).text ?? ''
  }
}

/** Lets the register's clocks run ahead, as if all processes had paused for so long. */
function pauseFor(ms: number): void {
  const { now, mono } = systemClock
  vi.spyOn(systemClock, 'now').mockImplementation(() => now() + ms)
  vi.spyOn(systemClock, 'mono').mockImplementation(() => mono() + ms)
}

afterEach(() => vi.restoreAllMocks())

test('a call that began with a mark counts for every reader until a mark ends it', async () => {
  await using world = new MarkWorld()
  const epoch = world.hold()
  world.begin('one', epoch)
  world.begin('two', epoch)
  expect(world.calls).toEqual(['one', 'two'])
  world.end('one', epoch)
  expect(world.calls).toEqual(['two'])
  const [claim] = dataOf(await world.lock(['status'])).claims as { holders: { calls: number }[] }[]
  expect(claim?.holders).toEqual([{ pid: agent.pid, calls: 1 }])
})

test('an end mark counts in any file of the session, and ends a call that the record began', async () => {
  await using world = new MarkWorld()
  const epoch = world.hold({ call: { id: 'zero' } })
  world.begin('one', epoch)
  expect(world.calls).toEqual(['zero', 'one'])
  world.mark('-one 1.00\n-zero 1.00\n', 7, 'a', '0123456789ab')
  expect(world.calls).toEqual([])
})

test('a session whose calls are only in marks keeps the workspace', async () => {
  await using world = new MarkWorld()
  const epoch = world.hold()
  pauseFor(6 * minute)
  world.begin('one', epoch)
  expect(world.asks()).toBe(false)
  world.end('one', epoch)
  // The end of a call is activity, too.
  expect(world.asks()).toBe(false)
})

test('a claim whose last mark is older than its time to live has expired', () => {
  const claim = { ...sample, pass: { uptime: 1000, mono: 0, folded: 3 } }
  const files = [{ key: 'k', epoch: 4, text: '+one 1100.00 7 edit\n-one 1110.00\n' }]
  const statusAt = (seconds: number) =>
    claimStatus(
      applyMarks(claim, 'k', { files, uptime: 1000 + seconds }, at(seconds * 1000).now),
      at(seconds * 1000),
    )
  expect(statusAt(110 + 299)).toBe('fresh')
  expect(statusAt(110 + 301)).toBe('expired')
})

test('a refusal closes no pass, and a change closes every one before it is decided', async () => {
  await using world = new MarkWorld()
  const epoch = world.hold()
  world.begin('one', epoch)
  expect(world.asks()).toBe(false)
  expect(world.claims.readSync().epoch).toBe(epoch)
  const release = world.claims.changeSync((record, observation) => {
    // A script that found its epoch on top has written its mark before: here, before the change is written.
    if (record.closed !== true) world.begin('two', epoch)
    const calls = record.claims.flatMap(({ holders }) => holders.flatMap((holder) => holder.calls))
    return { ...decideRefresh(record, { sessionId: 'a' }, observation), answer: calls.map(({ id }) => id) }
  })
  expect(release).toMatchObject({ answer: ['one', 'two'], epoch: epoch + 2 })
})

test('the marks of closed epochs become calls of the record once', async () => {
  await using world = new MarkWorld()
  const epoch = world.hold()
  world.begin('one', epoch)
  world.begin('two', epoch)
  const next = world.claims.refreshSync({ sessionId: 'a' }).epoch
  expect(JSON.parse(world.stored.split('\n')[1] ?? '').claims[0].pass.folded).toBe(next - 1)
  expect(world.calls).toEqual(['one', 'two'])
  const holders = (all: readonly ClaimHolder[]) => all.map((holder) => ({ ...holder, calls: [] }))
  world.claims.refreshSync({ sessionId: 'a', holders })
  // The file still has the marks, but the record knows them.
  world.begin('late', epoch)
  expect(world.calls).toEqual([])
})

test.each([
  ['a torn line', '+on'],
  ['a line of another program', 'hello world\n'],
  ['binary data', '\0\u0001\n'],
])('%s is activity now, and no call', async (_what, text) => {
  await using world = new MarkWorld()
  const epoch = world.hold()
  pauseFor(6 * minute)
  world.mark(text, epoch)
  expect(world.calls).toEqual([])
  expect(world.asks()).toBe(false)
})

test('marks that cannot be read are activity now', async () => {
  await using world = new MarkWorld()
  const epoch = world.hold()
  pauseFor(6 * minute)
  mkdirSync(join(world.home, 'passes', 'a', `${world.key}.${epoch}`), { recursive: true })
  expect(world.asks()).toBe(false)
})

test('a file of marks with hundreds of thousands of lines can be read', () => {
  const claim: Claim = { ...sample, pass: { uptime: 0, mono: 0, folded: 0 } }
  const files = [{ key: 'k', epoch: 1, text: '\n'.repeat(300_000) }]
  expect(applyMarks(claim, 'k', { files, uptime: 10 }, at(0).now).session_id).toBe('a')
})

test('a session id that leads out of the home is not followed', () => {
  const read = readMarks('/home/passes', '../../etc')
  expect(read.next().value).toEqual({ call: 'uptime' })
})

test('time that the machine was suspended makes no mark older', () => {
  const claim = { ...sample, pass: { uptime: 1000, mono: 500_000, folded: 3 } }
  const files = [{ key: 'k', epoch: 4, text: '+one 1010.50 7 edit\n' }]
  // Two hours on the clock that counts the suspension, and 20 s on the one that does not.
  const now = { wall: 1e12 + 7_200_000, mono: 520_000, clock: 'boot' }
  const applied = applyMarks(claim, 'k', { files, uptime: 8200 }, now)
  expect(now.mono - applied.mono).toBeLessThan(20_000)
  expect(applied.holders[0]?.calls).toEqual([
    { id: 'one', since: expect.any(Number), kind: 'edit', ticks: 101_050 },
  ])
})

test('a claim that was narrowed has no pass any more', async () => {
  await using world = new MarkWorld()
  world.hold({ paths: ['a.txt', 'b.txt'] })
  world.claims.releaseSync({ sessionId: 'a', paths: ['a.txt'] })
  expect(world.claim).toMatchObject({ paths: ['b.txt'] })
  expect(world.claim?.pass).toBeUndefined()
})
