import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { OverviewData } from '../../src/cli/status/overview.ts'
import type { AgentsSweepData } from '../../src/sweep/commands/sweep-agents.ts'
import { isRunning, stintBin, until } from '../support/world.ts'
import { claude } from './claude.ts'
import { codex, trustHooks } from './codex.ts'
import { Rig } from './rig.ts'

const overview = async (rig: Rig): Promise<OverviewData> =>
  (await rig.stint(['--json'], { cwd: rig.repository })).envelope().data as OverviewData

const packageVersion = (name: string): string => {
  const path = join(import.meta.dirname, 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

test('stint alone finds both agents with their versions, and reads from its files whether Codex trusts the hooks', async () => {
  await using rig = await Rig.open()
  const { agents } = await overview(rig)
  expect(agents.map(({ agent, version, hooks, trust }) => [agent, version, hooks, trust])).toEqual([
    ['claude', packageVersion('@anthropic-ai/claude-code'), 'installed', null],
    ['codex', packageVersion('@openai/codex'), 'installed', 'untrusted'],
  ])
  await trustHooks(rig)
  expect((await overview(rig)).agents.find(({ agent }) => agent === 'codex')?.trust).toBe('trusted')
  await rig.stint(['hook', 'install', 'codex', '--wait', '5s'])
  expect((await overview(rig)).agents.find(({ agent }) => agent === 'codex')?.trust).toBe('unknown')
})

/** System calls that create, change or remove a file. */
const changes =
  /\b(?:creat|mkdir|mkdirat|rmdir|unlink|unlinkat|rename|renameat2?|link|linkat|symlink|symlinkat|f?chmod|fchmodat|f?truncate|utimensat|mknod)\(|O_(?:WRONLY|RDWR|CREAT|TRUNC)/

test('stint alone creates, changes and removes no file but the code cache beside its program, and starts no agent', async () => {
  await using rig = await Rig.open()
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), 'Done.')
  await rig.play(claude, 'alice').finished
  const trace = join(rig.tmp, 'trace')
  const tracer = ['-f', '-qq', '-e', 'trace=%file,%process,ftruncate,fchmod', '-o', trace]
  const { code } = await rig.start('strace', [...tracer, process.execPath, stintBin], { cwd: rig.repository })
    .finished
  expect(code).toBe(0)
  const lines = readFileSync(trace, 'utf8').split('\n')
  const written = lines.filter(
    (line) => changes.test(line) && !/"\/dev\/(?:null|tty)"/.test(line) && !line.includes(dirname(stintBin)),
  )
  expect(written).toEqual([])
  const programs = lines.flatMap((line) => /execve\("([^"]*)".* = 0$/.exec(line)?.[1] ?? [])
  expect(programs.filter((path) => /claude|codex/.test(path))).toEqual([])
})

test('stint init sets the real agents up, two of them take turns, and --remove leaves the settings as they were', async () => {
  await using rig = await Rig.open()
  await rig.stint(['hook', 'uninstall'])
  // Claude Code adds other settings by itself.
  const settings = (): unknown[] => [
    (JSON.parse(readFileSync(join(rig.tmp, '.claude/settings.json'), 'utf8')) as { hooks: unknown }).hooks,
    readFileSync(join(rig.tmp, '.codex/hooks.json'), 'utf8'),
  ]
  // The recorder of the rig is the first hook of each event, and stint's the second.
  const isTrusted = (): boolean =>
    readFileSync(join(rig.tmp, '.codex/config.toml'), 'utf8').includes(':1:0"]')
  const before = settings()
  const init = await rig.stint(['init', '--yes', '--json'], { cwd: rig.repository })
  expect(init.code).toBe(0)
  await trustHooks(rig)
  expect(isTrusted()).toBe(true)
  rig.model.script('alice', claude.shell('echo alice >> log.txt; sleep 3; echo alice >> log.txt'), 'Done.')
  rig.model.script('bob', codex.shell('echo bob >> log.txt'), 'Done.')
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  await Promise.all([alice.finished, rig.play(codex, 'bob').finished])
  const lines = readFileSync(join(rig.repository, 'log.txt'), 'utf8')
  expect(lines).toBe('alice\nalice\nbob\n')
  const undo = await rig.stint(['undo', 'codex', '--yes', '--json'], { cwd: rig.repository })
  expect(undo.code, undo.stdout).toBe(0)
  expect(readFileSync(join(rig.repository, 'log.txt'), 'utf8')).toBe('alice\nalice\n')
  const removed = await rig.stint(['init', '--remove', '--yes', '--json'], { cwd: rig.repository })
  expect(removed.code).toBe(0)
  expect(settings()).toEqual(before)
  expect(isTrusted()).toBe(false)
})

test('the command and the output of a killed Claude Code are found, by the proof that it is dead', async () => {
  await using rig = await Rig.open()
  const leftovers = async (): Promise<AgentsSweepData> => {
    const finished = await rig.stint(['sweep', '--scope', 'agents', '--dry-run', '--json'])
    return finished.envelope().data as AgentsSweepData
  }
  const pid = join(rig.repository, 'pid')
  rig.model.script(
    'alice',
    claude.background(`echo $$ > ${pid}; exec sleep 1000`),
    rig.doneAfter('it runs', () => readFileSync(pid, 'utf8') !== ''),
    claude.shell('sleep 1000'),
  )
  writeFileSync(pid, '')
  const alice = rig.play(claude, 'alice')
  await until('the command runs', () => readFileSync(pid, 'utf8') !== '')
  const command = Number(readFileSync(pid, 'utf8'))
  const isFound = async (): Promise<boolean> =>
    (await leftovers()).processes.some((process) => process.pid === command)
  expect(await isFound()).toBe(false)
  process.kill(alice.pid, 'SIGKILL')
  await until('Claude Code is gone', () => !isRunning(alice.pid))
  await until('its command is an orphan', isFound)
  process.kill(command, 'SIGKILL')
  await until('its output is left over', async () =>
    (await leftovers()).files.some(({ path }) => path.startsWith(rig.tmp)),
  )
})
