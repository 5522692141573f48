import { expect, test } from 'vitest'
import { until } from '../support/world.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { Rig } from './rig.ts'

const refused = expect.stringContaining('parallel session lock held by')

test('two agents in one repository: the second one writes after the turn of the first', async () => {
  await using rig = await Rig.open()
  const { model } = rig
  const bobTried = rig.doneAfter('bob has tried', () => model.results('bob').length > 0)
  model.script('alice', claude.shell('echo alice >> log.txt'), bobTried)
  model.script('bob', codex.shell('echo bob >> log.txt'))
  model.script('carol', codex.shell('echo carol >> log.txt'), rig.doneAfterWrite('carol'))
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  await rig.play(codex, 'bob').finished
  expect(model.results('bob')).toEqual([refused])
  await alice.finished
  await rig.play(codex, 'carol').finished
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'carol', holders: ['carol'] },
  ])
})

test.each([claude, codex])(
  'reading while held: $name lists, reads and searches, and claims nothing',
  async (agent) => {
    await using rig = await Rig.open()
    const { model } = rig
    const bobRead = rig.doneAfter('bob has read', () => model.results('bob').length === 3)
    model.script('alice', claude.shell('echo alice >> log.txt'), bobRead)
    const reading = ['ls', 'cat log.txt | grep -n alice', 'git status --short && stint lock status --json']
    model.script('bob', ...reading.map((command) => agent.shell(command)))
    const alice = rig.play(claude, 'alice')
    await rig.wrote('alice')
    await rig.play(agent, 'bob').finished
    const [files, lines, status] = model.results('bob')
    expect(files).toContain('log.txt')
    expect(lines).toContain('1:alice')
    expect(status).toContain('?? log.txt')
    expect(status).toContain('"claims":[{')
    await alice.finished
    expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
  },
)

test('Esc in a command of Claude Code: its claim is no longer busy, and ages by its TTL', async () => {
  await using rig = await Rig.open()
  rig.model.script('alice', claude.shell('echo alice >> log.txt; sleep 600'))
  rig.model.script('bob', codex.shell('echo bob >> log.txt'))
  await using window = await rig.window(claude, 'alice')
  await rig.wrote('alice')
  expect(await rig.claims()).toMatchObject([{ standing: 'busy' }])
  window.press('Escape')
  await window.shows(/Interrupted/)
  await until('the claim is no longer busy', async () => (await rig.claims())[0]?.standing === 'fresh')
  const [claim] = await rig.claims()
  expect(claim?.expires_in_ms).toBeLessThanOrEqual(300_000)
  await rig.play(codex, 'bob').finished
  expect(rig.model.results('bob')).toEqual([refused])
  expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
})
