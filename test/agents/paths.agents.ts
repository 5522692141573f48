import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until } from '../support/world.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import type { Step } from './model.ts'
import { type Agent, Rig } from './rig.ts'

const refused = expect.stringContaining('parallel session lock held by')

/** Alice writes into a directory, and ends her turn when another script has had this many results. */
async function hold(rig: Rig, agent: Agent, directory: string, other: string, results = 1) {
  const done = rig.doneAfter(`${other} has tried`, () => rig.model.results(other).length >= results)
  rig.model.script('alice', agent.shell(`echo alice >> log.txt`), done)
  const alice = rig.playIn(directory, agent, 'alice')
  await rig.wrote('alice')
  return alice
}

test('a repository below the directory of a session is protected from it, by edit and by cd', async () => {
  await using rig = await Rig.open('--wait', '0')
  await rig.makeRepository(rig.second)
  const alice = await hold(rig, codex, rig.second, 'bob', 2)
  const edit = claude.edit(join(rig.second, 'by-bob.txt'), 'bob')
  rig.model.script('bob', edit, claude.shell('cd second && echo bob >> log.txt'), 'Done.')
  await rig.playIn(rig.tmp, claude, 'bob').finished
  expect(rig.model.results('bob')).toEqual([refused, refused])
  await alice.finished
  expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
})

test('a linked worktree in a repository stands alone, from both sides', async () => {
  await using rig = await Rig.open('--wait', '0')
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b']
  await rig.start('git', [...identity, 'commit', '-q', '--allow-empty', '-m', 'first'], {
    cwd: rig.repository,
  }).finished
  await rig.start('git', ['worktree', 'add', '-q', '--detach', rig.nested], { cwd: rig.repository }).finished
  const alice = await hold(rig, claude, rig.nested, 'bob', 2)
  const inside = codex.shell(`cd nested && echo bob inside >> log.txt`)
  rig.model.script(
    'bob',
    inside,
    codex.shell('echo bob outside >> log.txt'),
    rig.doneAfterWrite('bob outside'),
  )
  await rig.playIn(rig.repository, codex, 'bob').finished
  expect(rig.model.results('bob')).toEqual([refused, expect.not.stringContaining('lock held by')])
  await alice.finished
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'bob outside', holders: ['bob'] },
  ])
})

const patchOf = (...files: readonly string[]): Step => {
  const parts = files.map((file) => `*** Add File: ${file}\n+bob\n`).join('')
  const command = `apply_patch <<'EOF'\n*** Begin Patch\n${parts}*** End Patch\nEOF\n`
  return { tool: 'exec_command', input: { cmd: command } }
}

test('a patch of Codex over two repositories needs both, in either order', async () => {
  await using rig = await Rig.open('--wait', '0')
  await rig.makeRepository(rig.second)
  const alice = await hold(rig, claude, rig.second, 'bob', 2)
  const files = [join(rig.repository, 'one.txt'), join(rig.second, 'two.txt')]
  rig.model.script('bob', patchOf(...files), patchOf(...files.toReversed()), 'Done.')
  await rig.play(codex, 'bob').finished
  expect(rig.model.results('bob')).toEqual([refused, refused])
  await alice.finished
  rig.model.script('carol', patchOf(...files), rig.doneAfterWrite('bob'))
  await rig.play(codex, 'carol').finished
  expect(rig.writes().map(({ text }) => text)).toEqual(['alice', 'bob', 'bob'])
})

test('a plan is written to the home while the repository is held, and a command in the home claims nothing', async () => {
  await using rig = await Rig.open('--wait', '0')
  const alice = await hold(rig, codex, rig.repository, 'bob', 2)
  const plan = join(rig.tmp, 'plans/plan.md')
  mkdirSync(join(rig.tmp, 'plans'))
  const tellsHome = claude.shell(`cd ${rig.tmp} && echo bob > touched`)
  rig.model.script('bob', claude.edit(plan, 'first this'), tellsHome, 'Done.')
  await rig.play(claude, 'bob').finished
  expect(rig.model.results('bob')).not.toContainEqual(refused)
  expect(readFileSync(plan, 'utf8')).toBe('first this\n')
  await alice.finished
})

test('a command in the home runs while another session writes a plan there', async () => {
  await using rig = await Rig.open('--wait', '0')
  const plan = join(rig.tmp, 'plan.md')
  const bobTried = rig.doneAfter('bob has tried both', () => rig.model.results('bob').length > 1)
  rig.model.script('alice', claude.edit(plan, 'alice'), bobTried)
  const alice = rig.play(claude, 'alice')
  await until('the plan is there', () => rig.model.results('alice').length > 0)
  rig.model.script('bob', claude.shell('echo bob > touched'), claude.edit(plan, 'bob'), 'Done.')
  await rig.playIn(rig.tmp, claude, 'bob').finished
  expect(rig.model.results('bob')).toEqual([expect.not.stringContaining('lock held by'), refused])
  await alice.finished
})
