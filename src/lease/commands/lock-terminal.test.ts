import { expect, test } from 'vitest'
import { dataOf, LockWorld } from '../../../test/support/lock-world.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { until } from '../../../test/support/world.ts'

const holds = async (world: LockWorld): Promise<boolean> =>
  (await world.lock(['status', '--session', 'theirs'])).code === 0

test('break by the beginning of an id shows whose claim it is and asks: n, Ctrl-D and Ctrl-C change nothing, y breaks', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  await world.lock(['acquire', '--session', 'theirs'])
  const answers: [() => void, RegExp][] = [
    [() => terminal.enter('n'), /you answered no \(CANCELLED\)\n {2}Nothing was changed\.\n\[1\] ready>$/],
    [
      () => terminal.press('C-d'),
      /\[y\/N\]\nstint lock break: you answered no \(CANCELLED\)\n {2}Nothing was changed\.\n\[1\] ready>$/,
    ],
    [() => terminal.press('C-c'), /CANCELLED[^]*\n\[130\] ready>$/],
  ]
  for (const [answer, end] of answers) {
    terminal.enter(`clear; stint lock break --session the --workspace ${world.workspace}`)
    await terminal.shows(/Break this claim\?.* \[y\/N\]$/)
    answer()
    await terminal.shows(end)
    expect(terminal.screen()).not.toContain('UNEXPECTED')
    expect(await holds(world)).toBe(true)
  }
  terminal.enter(`clear; stint lock break --session the --workspace ${world.workspace}`)
  await terminal.shows(/Break this claim\?.* \[y\/N\]$/)
  terminal.enter('y')
  await terminal.shows(/the claim of theirs is broken\n\[0\] ready>$/)
  expect(await holds(world)).toBe(false)
})

test('acquire breaks its sentence between words', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  terminal.enter(
    'clear; stint lock acquire --session mine-and-nobody-elses --resource deploy:production-of-all',
  )
  await terminal.shows(/^\[0\] ready>$/m)
  expect(terminal.screen()).toMatch(
    /^You hold deploy:production-of-all until [\d-]+ [\d:]+ \(session\n {2}mine-and-nobody-elses\)\.\nRelease it with: stint lock release --session mine-and-nobody-elses --resource deploy:production-of-all$/m,
  )
})

test('break removes only the claim that it has shown, not a newer one of that session', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  const acquire = async () => Number(dataOf(await world.lock(['acquire', '--session', 'theirs'])).fence)
  const shown = await acquire()
  terminal.enter(`stint lock break --session the --workspace ${world.workspace}`)
  await terminal.shows(/theirs {2}the whole workspace {2}held for \d+s, [^]*Break this claim\?.* \[y\/N\]$/)
  await world.lock(['release', '--session', 'theirs'])
  expect(await acquire()).toBeGreaterThan(shown)
  terminal.enter('y')
  await terminal.shows(/that claim of theirs was gone already\n\[0\] ready>$/)
  expect(await holds(world)).toBe(true)
})

test('run --lock --wait names the session that it waits for, and Ctrl-C ends the wait', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  await world.lock(['acquire', '--session', 'theirs', '--purpose', 'long work'])
  terminal.enter(`cd ${world.workspace}; clear`)
  for (const command of ['run --lock --wait 1h -- echo ran', 'lock acquire --session me --wait 1h']) {
    terminal.enter(`clear; stint ${command}`)
    await terminal.shows(/^stint: waiting for theirs,[^]*"long\s+work"/m)
    terminal.press('C-c')
    await terminal.shows(/\n\[130\] ready>$/)
    expect(terminal.screen()).not.toMatch(/^ran/m)
  }
  expect(world.leftovers()).toEqual([])
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [{ session_id: 'theirs' }] })
})

test('lock acquire --wait --quiet waits silently', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  await world.lock(['acquire', '--session', 'theirs', '--ttl', '2s'])
  terminal.enter(
    `clear; stint lock acquire --session me --wait 1h --quiet --workspace ${world.workspace}; echo got it`,
  )
  await terminal.shows(/^got it\n\[0\] ready>$/)
  expect(terminal.screen()).not.toContain('waiting for')
})

test('lock status --watch redraws one screen until Ctrl-C', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  terminal.enter(`cd ${world.workspace}; clear; stint lock status --watch --interval 50ms`)
  await terminal.shows(/^stint lock status at [\d:]+, every 50ms; Ctrl-C ends it\n\S+\/work is free$/)
  expect(terminal.isAlternate()).toBe(true)
  await world.lock(['acquire', '--session', 'theirs'])
  await terminal.shows(/\/work\n {2}theirs {2}the whole workspace {2}held for /)
  terminal.press('C-c')
  await terminal.shows(/\[130\] ready>$/)
  expect(terminal.isAlternate()).toBe(false)
})

test('lock status shows each session that waits, for how long and for what', async () => {
  await using world = new LockWorld()
  await using terminal = await Terminal.open(world)
  await world.lock(['acquire', '--session', 'theirs'])
  const wait = ['acquire', '--session', 'mine', '--path', 'docs', '--wait', '1h']
  const { pid } = world.startStint(['lock', ...wait], { cwd: world.workspace })
  await until(
    'it waits',
    async () => (dataOf(await world.lock(['status'])).waiters as unknown[]).length === 1,
  )
  terminal.enter(`clear; stint lock status --workspace ${world.workspace}`)
  await terminal.shows(new RegExp(`\\n {2}mine \\(pid ${pid}\\) has waited \\d+s for docs\\n`))
})
