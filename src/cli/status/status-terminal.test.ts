import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deadPid, plant } from '../../../test/support/plant.ts'
import { LockWorld } from '../../../test/support/lock-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { until, World } from '../../../test/support/world.ts'
import { ownIdentity } from '../../base/process/liveness.ts'

test('a terminal shows one screen that ends with what to do', async () => {
  await using world = new World()
  plant(world, { ...ownIdentity(), pid: deadPid })
  await using terminal = await Terminal.open(world)
  terminal.enter('stint lock acquire --session mine --purpose "a test" --quiet; stint status')
  await terminal.shows(/\[0\] ready>$/)
  await terminal.shows(/^To do$/m)
  const screen = terminal.screen()
  expect(screen).toMatch(/^Now +WHO +STATE .*\n +mine +working +\d+s +~ +a test/m)
  expect(screen).toMatch(/^Temp +~\/stint-\d+, 1 orphan \([\d.]+ KiB\)$/m)
  expect(screen).toMatch(/^ {2}warn {2}orphans +dead runs have left 1 entry, .*\n +(→|->|.+) stint sweep$/m)
})

test('a claim of a dead session is not shown', async () => {
  await using world = new LockWorld()
  world.plantClaim({ holders: [{ ...ownIdentity(), pid: deadPid }] })
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; stint status')
  await terminal.shows(/^To do {8}nothing$/m)
  expect(terminal.screen()).not.toMatch(/ working /)
})

test('--watch redraws the alternate screen as things change, and restores the terminal at Ctrl-C', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  const modes = terminal.modes()
  terminal.enter('echo before; stint status --watch --interval 50ms')
  await terminal.shows(/^stint status at \d\d:\d\d:\d\d, every 50ms; Ctrl-C ends it$/m)
  expect(terminal.isAlternate()).toBe(true)
  expect(terminal.screen()).not.toContain('before')
  await world.stint(['lock', 'acquire', '--session', 'mine', '--resource', 'prod'])
  await terminal.shows(/^ +mine +working +\d+s +prod/m)
  await world.stint(['lock', 'release', '--session', 'mine', '--resource', 'prod'])
  await until('it is released', () => !terminal.screen().includes(' working '))
  terminal.press('C-c')
  await terminal.shows(/before\n\[130\] ready>$/)
  expect(terminal.isAlternate()).toBe(false)
  expect(terminal.modes()).toBe(modes)
})

test('--watch fits a small screen, gives it to the shell at Ctrl-Z, and redraws it after fg', async () => {
  await using world = new World()
  for (let count = 0; count < 12; count++) plant(world, ownIdentity())
  plant(world, { ...ownIdentity(), pid: deadPid })
  await using terminal = await Terminal.open(world, ['bash', '--norc', '-i'])
  terminal.enter('stint status --watch --interval 100ms')
  await terminal.shows(/^Runs +12 under way$/m)
  terminal.resize(60, 9)
  await terminal.shows(/^…$[^]*^To do\n {2}warn {2}orphans/m)
  expect(terminal.screen()).toMatch(/^stint status at/)
  terminal.resize(100, 30)
  await terminal.shows(/^Runs +12 under way$/m)
  terminal.press('C-z')
  await terminal.shows(/ready>$/)
  expect(terminal.isAlternate()).toBe(false)
  terminal.enter('fg')
  await terminal.shows(/^Runs +12 under way$/m)
  expect(terminal.isAlternate()).toBe(true)
  terminal.press('C-c')
  await terminal.shows(/\[130\] ready>$/)
  expect(terminal.isAlternate()).toBe(false)
})

test('in CI, or on a terminal that cannot be redrawn, --watch prints one block after another', async () => {
  await using world = new World({ CI: '1' })
  await using terminal = await Terminal.open(world)
  // Tall enough for two blocks, whatever agents are installed: each one without hooks adds lines to the to-do
  // list.
  terminal.resize(100, 80)
  terminal.enter('stint status --watch --interval 50ms')
  await terminal.shows(/^Sessions +none$/m)
  expect(terminal.isAlternate()).toBe(false)
  mkdirSync(join(world.tmp, 'home'), { mode: 0o700 })
  plant(world, { ...ownIdentity(), pid: deadPid })
  await terminal.shows(/^Home[^]*^Home[^]*1 orphan/m)
  terminal.press('C-c')
  await terminal.shows(/\[130\] ready>$/)
})
