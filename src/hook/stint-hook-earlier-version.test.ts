import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Standing, standings, type Witness } from '../../test/fixtures/reader-without-marks.ts'
import { type ScriptEnd, ScriptWorld } from '../../test/support/hook-script.ts'
import { liveness } from '../base/process/liveness.ts'
import { type Claim, homeRegister, WorkspaceClaims } from '../lease/index.ts'

const minute = 60_000

/** A home that a version of stint without passes and marks uses, too. */
class SharedHome extends ScriptWorld {
  /** How the earlier version judges the claims, after so many milliseconds without a change of the record. */
  seenAfter(ms: number, livenessOf: Witness['liveness'] = liveness): Record<string, Standing> {
    const register = homeRegister({ STINT_HOME: this.home })
    const { now } = WorkspaceClaims.open(register, { workspace: this.workspace }).readSync().observation
    const later = { ...now, wall: now.wall + ms, mono: now.mono + ms }
    return standings(this.locks, { now: later, liveness: livenessOf })
  }

  prompt(): ScriptEnd {
    const event = { session_id: 'session-a', cwd: this.workspace, hook_event_name: 'UserPromptSubmit' }
    return this.send(JSON.stringify({ ...event, prompt: 'go on' }))
  }

  get #top(): string {
    const epochs = readdirSync(this.locks).filter((name) => /^\d+$/.test(name))
    return join(this.locks, String(Math.max(...epochs.map(Number))))
  }

  /** The calls that the record itself names as in flight: none that began with a mark. */
  get recordedCalls(): string[] {
    const [, json = ''] = readlinkSync(this.#top).split('\n')
    const { claims } = JSON.parse(json) as { claims: Claim[] }
    const ids = claims.flatMap(({ holders }) => holders.flatMap(({ calls }) => calls.map(({ id }) => id)))
    return ids.filter((id) => id !== '(marks)')
  }

  /** Replaces the newest record. */
  changeRecord(change: (text: string) => string): void {
    const text = readlinkSync(this.#top)
    if (change(text) === text) throw new Error(`nothing to change in ${text}`)
    this.link(change(text), this.#top)
  }
}

const fast = { code: 0, stdout: '', stderr: '', usedNode: false }
const busy = { 'session-a': 'busy' }

test('a version without marks sees a session as busy while the script begins and ends its calls, and as gone after its turn', async () => {
  await using world = new SharedHome()
  expect(world.pre('one')).toMatchObject({ code: 0, usedNode: true })
  expect(world.seenAfter(0)).toEqual(busy)
  expect(world.post('one')).toEqual(fast)
  expect(world.seenAfter(0)).toEqual(busy)
  expect(world.pre('two')).toEqual(fast)
  // A pass lasts for an hour.
  for (const ms of [0, 6 * minute, 60 * minute]) expect(world.seenAfter(ms)).toEqual(busy)
  expect(world.post('two')).toEqual(fast)
  expect(world.seenAfter(60 * minute)).toEqual(busy)
  // Its user has entered something: no call of the record is in flight any more.
  world.prompt()
  expect(world.pre('three')).toMatchObject({ code: 0 })
  expect(world.recordedCalls).toEqual([])
  expect(world.calls()).toEqual(['three'])
  expect(world.seenAfter(60 * minute)).toEqual(busy)
  world.stop()
  expect(world.seenAfter(0)).toEqual({})
})

test('it sees sessions with claims on different files as busy, and a record that is too long for a link', async () => {
  await using world = new SharedHome()
  world.flags = ['--scope', 'paths']
  const file = (name: string) => join(world.workspace, name)
  const names = Array.from({ length: 20 }, (_, at) => `${at}-${'n'.repeat(240)}`)
  const patch = names.map((name) => `*** Add File: ${name}\n+a\n`).join('')
  const input = { command: `*** Begin Patch\n${patch}*** End Patch\n` }
  expect(world.pre('one', { tool: 'apply_patch', before: { turn_id: 'turn' }, input }).code).toBe(0)
  expect(readdirSync(world.locks).map((name) => name.includes('-'))).toContain(true)
  expect(world.post('one', { tool: 'apply_patch' })).toEqual(fast)
  expect(world.calls()).toEqual([])
  expect(world.seenAfter(60 * minute)).toEqual(busy)
  expect(world.edit('two', file('b.txt'), { session: 'session-b' }).code).toBe(0)
  expect(world.post('two', { session: 'session-b', tool: 'Edit' })).toEqual(fast)
  expect(world.seenAfter(60 * minute)).toEqual({ ...busy, 'session-b': 'busy' })
})

test('it does not take over from an agent that it cannot see before the pass has ended', async () => {
  await using world = new SharedHome()
  world.pre('one')
  expect(world.seenAfter(64 * minute, () => 'unknown')).toEqual({ 'session-a': 'fresh' })
  world.changeRecord((text) => text.replace('"ttl_ms":3900000', '"ttl_ms":300000'))
  expect(world.seenAfter(6 * minute, () => 'unknown')).toEqual({ 'session-a': 'expired' })
})

test('without the call that stands for all marks, it would see the session as idle, and take over', async () => {
  await using world = new SharedHome()
  world.pre('one')
  world.changeRecord((text) => text.replace(/"calls":\[.*?\]/, '"calls":[]'))
  expect(world.seenAfter(0)).toEqual({ 'session-a': 'fresh' })
  world.changeRecord((text) => text.replace('"ttl_ms":3900000', '"ttl_ms":300000'))
  expect(world.seenAfter(6 * minute)).toEqual({ 'session-a': 'expired' })
})
