import { expect, test } from 'vitest'
import { until } from '../support/world.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { Rig } from './rig.ts'

// Scenes of minutes, in real time and side by side.

const refused = expect.stringContaining('parallel session lock held by')
const minute = 60_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

test.each([claude, codex])(
  'a model of $name that thinks for ten minutes, and reads now and then, keeps the workspace of its turn',
  async (agent) => {
    await using rig = await Rig.open('--wait', '0')
    // Claude Code asks its model again after five minutes without an answer.
    const think = (minutes: number, command: string) => async () => {
      await pause(minutes * minute)
      return agent.shell(command)
    }
    rig.model.script(
      'alice',
      agent.shell('echo first half >> log.txt'),
      think(4, 'ls'),
      think(4, 'git status'),
      think(2.2, 'echo second half >> log.txt'),
      rig.doneAfterWrite('second half'),
    )
    const alice = rig.play(agent, 'alice')
    await rig.wrote('first half')
    for (const name of ['bob', 'carol']) {
      await pause(4.8 * minute)
      expect(await rig.attempt(claude, name)).toEqual(refused)
    }
    await alice.finished
    expect(rig.writes()).toEqual([
      { text: 'first half', holders: ['alice'] },
      { text: 'second half', holders: ['alice'] },
    ])
  },
  15 * minute,
)

test(
  'a question that is answered after ten minutes keeps the workspace',
  async () => {
    await using rig = await Rig.open('--wait', '0')
    rig.model.script('alice', claude.asking('echo alice >> log.txt'), rig.doneAfterWrite('alice'))
    const window = await rig.window(claude, 'alice', { asks: true })
    await rig.heard('PermissionRequest', 'alice')
    await pause(10 * minute)
    expect(await rig.attempt(codex, 'bob')).toEqual(refused)
    await rig.answer(window, claude, 'Enter')
    await rig.heard('Stop', 'alice')
    expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
  },
  15 * minute,
)

test('Esc and at once a new prompt, while another session waits: the two never write in one turn', async () => {
  await using rig = await Rig.open('--wait', '60s')
  rig.model.script('alice', claude.shell('echo alice >> log.txt; sleep 600'))
  rig.model.script('again', claude.shell('echo again >> log.txt'), rig.doneAfterWrite('again'))
  const window = await rig.window(claude, 'alice')
  await rig.wrote('alice')
  rig.model.script('bob', codex.shell('echo bob >> log.txt'), rig.doneAfterWrite('bob'))
  const bob = rig.play(codex, 'bob')
  await until('bob waits', async () => (await rig.waiters()) > 0)
  window.press('Escape')
  await window.shows(/Interrupted/)
  window.enter('play again')
  await rig.wrote('again')
  await bob.finished
  await rig.wrote('bob')
  for (const { text, holders } of rig.writes())
    if (text === 'bob') expect(holders).toEqual(['bob'])
    else expect(holders).toEqual(['alice'])
})

test('Esc in the second of two windows says nothing about the first', async () => {
  await using rig = await Rig.open('--wait', '0')
  const bobTold = (): boolean => rig.model.results('bob').length > 0
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), rig.doneAfter('bob was told', bobTold))
  rig.model.script('again', claude.shell('ls; sleep 600'))
  await rig.window(claude, 'alice')
  await rig.wrote('alice')
  const second = await rig.window(claude, 'again', { options: ['--continue'] })
  const isAsked = (): boolean => rig.events().some(({ json }) => json.prompt === 'play again')
  await until('the second window has its prompt', isAsked)
  await second.shows(/sleep 600/)
  second.press('Escape')
  await second.shows(/Interrupted|interrupt/)
  expect(await rig.attempt(codex, 'bob')).toEqual(refused)
  expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
})
