import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/world.ts'
import { claude } from './claude.ts'
import { codex, startDaemon, trustHooks } from './codex.ts'
import type { Step } from './model.ts'
import { noteStarts, noteVariables, printReport, printVersions } from './report.ts'
import { Rig } from './rig.ts'

const refused = expect.stringContaining('parallel session lock held by')
const agents = [claude, codex]

/** The events up to the first call of a session. */
const asked = ['SessionStart', 'UserPromptSubmit', 'PreToolUse']

/**
 * A command that writes after a while, and stays until the witness has looked at the claims. The last command
 * keeps the shell, which Codex takes with it when it is killed, from becoming the process that writes.
 */
const late = 'sh -c "sleep 10; echo alice late >> log.txt; sleep 5"; true'

beforeAll(printVersions)
afterAll(printReport)

test('two agents in one repository: the second one writes after the turn of the first', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), rig.doneAfterAttempt('bob'))
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  expect(await rig.attempt(codex, 'bob')).toEqual(refused)
  await alice.finished
  expect(await rig.attempt(codex, 'carol')).not.toEqual(refused)
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'carol', holders: ['carol'] },
  ])
})

test.each(agents)(
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

test.each(agents)(
  'the model of $name is told who held the workspace since its session was refused',
  async (agent) => {
    await using rig = await Rig.open('--wait', '0')
    const { model } = rig
    const write = agent.shell('echo bob >> log.txt')
    const writeWhenFree = async (): Promise<Step> => {
      await rig.freed()
      return write
    }
    model.script('alice', claude.shell('echo alice >> log.txt'), rig.doneAfterAttempt('bob'))
    model.script('bob', write, writeWhenFree, rig.doneAfterWrite('bob'))
    const alice = rig.play(claude, 'alice')
    await rig.wrote('alice')
    await rig.play(agent, 'bob').finished
    await alice.finished
    expect(model.results('bob')).toEqual([refused, expect.not.stringContaining('parallel session lock')])
    expect(model.request('bob')).toMatch(
      /stint: since your session was last here, session \S+ \(Claude Code\) held this workspace/,
    )
  },
)

test.each(agents)('edits of $name are refused while another session holds the workspace', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  const step = (name: string): Step => agent.edit(join(rig.repository, `${name}.txt`), name)
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), rig.doneAfterAttempt('bob'))
  rig.model.script('bob', step('bob'))
  rig.model.script('carol', step('carol'), rig.doneAfterWrite('carol'))
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  await rig.play(agent, 'bob').finished
  expect(rig.model.results('bob')).toEqual([refused])
  await alice.finished
  await rig.play(agent, 'carol').finished
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'carol', holders: ['carol'] },
  ])
})

test('Esc in a command of Claude Code ends the turn: the next session writes at once', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', claude.shell('echo alice >> log.txt; sleep 600'))
  const window = await rig.window(claude, 'alice')
  await rig.wrote('alice')
  expect(await rig.attempt(codex, 'bob')).toEqual(refused)
  window.press('Escape')
  await window.shows(/Interrupted/)
  await rig.freed()
  expect(await rig.attempt(codex, 'carol')).not.toEqual(refused)
  expect(rig.sent('alice')).toEqual(asked)
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'carol', holders: ['carol'] },
  ])
})

test('Esc in a command of Codex leaves the command running: the claim stands until it has ended', async () => {
  await using rig = await Rig.open('--wait', '0')
  // Esc in the first moments of a command, before Codex keeps it, still ends it.
  rig.model.script('alice', codex.shell(`echo alice >> log.txt; sleep 3; echo kept >> log.txt; ${late}`))
  const window = await rig.window(codex, 'alice')
  await rig.wrote('kept')
  window.press('Escape')
  await rig.heard('Interrupt', 'alice')
  expect(await rig.attempt(claude, 'bob')).toEqual(refused)
  await rig.wrote('alice late')
  await rig.freed()
  expect(await rig.attempt(claude, 'carol')).not.toEqual(refused)
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'kept', holders: ['alice'] },
    { text: 'alice late', holders: ['alice'] },
    { text: 'carol', holders: ['carol'] },
  ])
})

test('a declined prompt of Claude Code ends the turn: the next session writes at once', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', claude.asking('echo alice >> log.txt'))
  const window = await rig.window(claude, 'alice', { asks: true })
  await rig.heard('PermissionRequest', 'alice')
  expect(await rig.attempt(codex, 'bob')).toEqual(refused)
  await rig.answer(window, claude, 'Escape')
  await window.shows(/Interrupted/)
  await rig.freed()
  expect(await rig.attempt(codex, 'carol')).not.toEqual(refused)
  expect(rig.sent('alice')).toEqual([...asked, 'PermissionRequest'])
  expect(rig.writes()).toEqual([{ text: 'carol', holders: ['carol'] }])
})

test('a prompt of Claude Code that is declined with words ends its call: others write after the turn', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', claude.asking('echo alice >> log.txt'))
  const window = await rig.window(claude, 'alice', { asks: true })
  await rig.heard('PermissionRequest', 'alice')
  await window.shows(claude.question)
  window.press('Up')
  await window.shows(/❯ \d\. No/)
  window.press('Tab')
  window.enter('not now')
  await rig.heard('Stop', 'alice')
  await rig.freed()
  expect(await rig.attempt(codex, 'bob')).not.toEqual(refused)
  expect(rig.sent('alice')).toEqual([...asked, 'PermissionRequest', 'PostToolBatch', 'Stop'])
  expect(rig.writes()).toEqual([{ text: 'bob', holders: ['bob'] }])
})

test('a declined prompt of Codex ends the turn: the next session writes at once', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', codex.asking('echo alice >> log.txt'))
  const window = await rig.window(codex, 'alice', { asks: true })
  await rig.heard('PermissionRequest', 'alice')
  await rig.answer(window, codex, 'Escape')
  await rig.heard('Interrupt', 'alice')
  await rig.freed()
  expect(await rig.attempt(claude, 'bob')).not.toEqual(refused)
  expect(rig.sent('alice')).toEqual([...asked, 'PermissionRequest', 'Interrupt'])
  expect(rig.writes()).toEqual([{ text: 'bob', holders: ['bob'] }])
})

test.each(agents)('a prompt of $name that is approved after another session has tried', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', agent.asking('echo alice >> log.txt'), rig.doneAfterWrite('alice'))
  const window = await rig.window(agent, 'alice', { asks: true })
  await rig.heard('PermissionRequest', 'alice')
  expect(await rig.attempt(claude, 'bob')).toEqual(refused)
  await rig.answer(window, agent, 'Enter')
  await rig.heard('Stop', 'alice')
  expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
})

test.each(agents)(
  'a call of $name that is approved after another session took over runs: no hook can stop it',
  async (agent) => {
    await using rig = await Rig.open()
    const { model } = rig
    const aliceWrote = async (): Promise<ReturnType<typeof claude.shell>> => {
      await rig.wrote('alice')
      await rig.heard('Stop', 'alice')
      return claude.shell('echo bob again >> log.txt')
    }
    model.script('alice', agent.asking('echo alice >> log.txt'), rig.doneAfterWrite('alice'))
    model.script('bob', claude.shell('echo bob >> log.txt'), aliceWrote, rig.doneAfterWrite('bob again'))
    const window = await rig.window(agent, 'alice', { asks: true })
    await rig.heard('PermissionRequest', 'alice')
    const [claim] = await rig.claims()
    const session = String(claim?.session_id)
    await rig.stint(['lock', 'break', '--session', session, '--reason', 'a scene', '--yes'], {
      cwd: rig.repository,
    })
    const bob = rig.play(claude, 'bob')
    await rig.wrote('bob')
    await rig.answer(window, agent, 'Enter')
    await bob.finished
    // The agent asked its hooks before its user, and asks nobody again: no hook can stop this write.
    expect(rig.writes()).toEqual([
      { text: 'bob', holders: ['bob'] },
      { text: 'alice', holders: ['bob'] },
      { text: 'bob again', holders: ['bob'] },
    ])
  },
)

test.each(agents)(
  'a command of $name that runs on after its turn holds the workspace until it ends',
  async (agent) => {
    await using rig = await Rig.open('--wait', '0')
    rig.model.script('alice', agent.background(late))
    await rig.window(agent, 'alice')
    await rig.heard('Stop', 'alice')
    expect(await rig.attempt(claude, 'bob')).toEqual(refused)
    await rig.wrote('alice late')
    await rig.freed()
    expect(await rig.attempt(claude, 'carol')).not.toEqual(refused)
    expect(rig.writes()).toEqual([
      { text: 'alice late', holders: ['alice'] },
      { text: 'carol', holders: ['carol'] },
    ])
  },
)

test.each(agents)('a server that a turn of $name leaves running holds nothing', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  const listen =
    'require("node:net").createServer().listen(0, "127.0.0.1", () => require("node:fs").writeFileSync("up", ""))'
  rig.model.script('alice', agent.background(`node -e '${listen}'`), async () => {
    await until('it listens', () => existsSync(join(rig.repository, 'up')))
    return 'Done.'
  })
  await rig.window(agent, 'alice')
  await rig.heard('Stop', 'alice')
  await rig.freed()
  expect(await rig.attempt(claude, 'bob')).not.toEqual(refused)
  expect(rig.writes()).toEqual([{ text: 'bob', holders: ['bob'] }])
})

test.each(agents)('after kill -9 of $name, its command still holds the workspace', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', agent.shell(`echo alice >> log.txt; ${late}`))
  const alice = rig.play(agent, 'alice')
  await rig.wrote('alice')
  process.kill(Number((await rig.claims())[0]?.pid), 'SIGKILL')
  await alice.finished
  expect(await rig.attempt(claude, 'bob')).toEqual(refused)
  await rig.wrote('alice late')
  await rig.freed()
  expect(await rig.attempt(claude, 'carol')).not.toEqual(refused)
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'alice late', holders: ['alice'] },
    { text: 'carol', holders: ['carol'] },
  ])
})

test('a session of Claude Code in two processes is two parties: the second is refused', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), rig.doneAfterAttempt('again'))
  rig.model.script('again', claude.shell('echo again >> log.txt'))
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  await rig.play(claude, 'again', '--continue').finished
  expect(rig.model.results('again').at(-1)).toEqual(refused)
  await alice.finished
  rig.model.script('later', claude.shell('echo later >> log.txt'), rig.doneAfterWrite('later'))
  await rig.play(claude, 'later', '--continue').finished
  expect(rig.writes().map(({ text }) => text)).toEqual(['alice', 'later'])
})

test('two windows of Codex under one server are two parties', async () => {
  await using rig = await Rig.open('--wait', '0')
  const windows = await startDaemon(rig)
  const bobTold = (): boolean => rig.model.results('bob').length > 0
  rig.model.script('alice', codex.shell('echo alice >> log.txt'), rig.doneAfter('bob was told', bobTold))
  rig.model.script('bob', codex.shell('echo bob >> log.txt'))
  await rig.window(windows, 'alice')
  await rig.wrote('alice')
  const [claim] = await rig.claims()
  expect(readFileSync(`/proc/${claim?.pid}/cmdline`, 'utf8')).toContain('app-server')
  await rig.window(windows, 'bob')
  await rig.heard('Stop', 'bob')
  expect(rig.model.results('bob')).toEqual([refused])
  expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
})

test.each(agents)(
  'stint run --lock -- $name: the agent works below the run, and others are refused',
  async (agent) => {
    await using rig = await Rig.open('--wait', '0')
    rig.model.script('alice', agent.shell('echo alice >> log.txt'), rig.doneAfterAttempt('bob'))
    const command = ['run', '--lock', '--session', 'outer', '--', ...agent.headless('play alice')]
    const run = rig.startStint(command, { cwd: rig.repository })
    await rig.wrote('alice')
    expect(await rig.attempt(claude, 'bob')).toEqual(refused)
    await run.finished
    expect(rig.writes()).toEqual([{ text: 'alice', holders: ['outer', 'alice'] }])
  },
)

test.each(agents)('$name inside an agent works below it, and others are refused', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('inner', agent.shell('echo inner >> log.txt'), rig.doneAfterAttempt('bob'))
  const inner = agent.headless('play inner').map((word) => `'${word}'`)
  rig.model.script('alice', claude.shell(`echo alice >> log.txt; ${inner.join(' ')} < /dev/null`))
  const alice = rig.play(claude, 'alice')
  await rig.wrote('inner')
  expect(await rig.attempt(codex, 'bob')).toEqual(refused)
  await alice.finished
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'inner', holders: ['alice', 'inner'] },
  ])
})

test.each(agents)('by default, $name waits for the end of the other turn, and then writes', async (agent) => {
  await using rig = await Rig.open()
  const bobWaits = rig.doneAfter('bob waits', async () => (await rig.waiters()) > 0)
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), bobWaits)
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  expect(await rig.attempt(agent, 'bob')).not.toEqual(refused)
  await alice.finished
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'bob', holders: ['bob'] },
  ])
})

test.each(agents)('after --wait, $name is refused, and told how long it has waited', async (agent) => {
  await using rig = await Rig.open('--wait', '2s')
  await rig.stint(['lock', 'acquire', '--session', 'me'], { cwd: rig.repository })
  const told = await rig.attempt(agent, 'bob')
  expect(told).toEqual(refused)
  expect(told).toContain('The hook has waited')
  expect(rig.writes()).toEqual([])
})

test('a model that was refused runs stint lock wait, and then writes', async () => {
  await using rig = await Rig.open('--wait', '0')
  const bobWaits = rig.doneAfter('bob waits', () => rig.model.results('bob').length > 0)
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), bobWaits)
  const write = codex.shell('echo bob >> log.txt')
  rig.model.script(
    'bob',
    write,
    codex.shell('stint lock wait --timeout 60s'),
    write,
    rig.doneAfterWrite('bob'),
  )
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  await rig.play(codex, 'bob').finished
  const [refusal, waited] = rig.model.results('bob')
  expect(refusal).toEqual(refused)
  expect(waited).toContain('exited with code 0')
  await alice.finished
  expect(rig.writes()).toEqual([
    { text: 'alice', holders: ['alice'] },
    { text: 'bob', holders: ['bob'] },
  ])
})

test.each([
  { ...claude, title: 'Claude Code' },
  { ...codex, title: 'Codex' },
])('a claim of $name in a terminal says which terminal, directory and prompt it is', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', agent.shell('echo alice >> log.txt'), rig.doneAfterAttempt('bob'))
  await rig.window(agent, 'alice')
  await rig.wrote('alice')
  const terminal = expect.stringMatching(/^pts\/\d+$/)
  const origin = { agent: agent.title, terminal, tmux_pane: '%0', directory: rig.repository }
  expect(await rig.claims()).toMatchObject([{ origin: { ...origin, prompt: 'play alice' } }])
  expect(await rig.attempt(claude, 'bob')).toContain('play alice')
})

test('with --subagents apart, two subagents of a session exclude each other', async () => {
  await using rig = await Rig.open('--wait', '0', '--subagents', 'apart')
  const helper = (name: string): Step => ({
    tool: 'Agent',
    input: { description: name, prompt: `play ${name}`, subagent_type: 'general-purpose' },
  })
  rig.model.script('alice', helper('ann'), helper('ben'))
  rig.model.script('ann', claude.shell('echo ann >> log.txt'), rig.doneAfterAttempt('ben'))
  rig.model.script('ben', claude.shell('echo ben >> log.txt'))
  await rig.play(claude, 'alice', '--allowedTools', 'Bash,Agent').finished
  expect(rig.model.results('ben')).toEqual([refused])
  expect(rig.writes().map(({ text }) => text)).toEqual(['ann'])
})

test.each([
  { ...claude, fails: 'PostToolUseFailure', batch: ['PostToolBatch'] },
  { ...codex, fails: 'PostToolUse', batch: [] },
])('$name reports a command that succeeds, one that fails, and none that is refused', async (agent) => {
  await using rig = await Rig.open('--wait', '0')
  const { batch, fails } = agent
  rig.model.script('alice', agent.shell('touch made'), agent.shell('exit 3'))
  await rig.play(agent, 'alice').finished
  const calls = ['PostToolUse', ...batch, 'PreToolUse', fails, ...batch]
  expect(rig.sent('alice')).toEqual([...asked, ...calls, 'Stop', 'SessionEnd'])
  await rig.stint(['lock', 'acquire', '--session', 'me'], { cwd: rig.repository })
  expect(await rig.attempt(agent, 'bob')).toEqual(refused)
  expect(rig.sent('bob')).toEqual([...asked, ...batch, 'Stop', 'SessionEnd'])
  expect(rig.writes()).toEqual([])
})

test.each(agents)('$name names its session in the environment of its commands', async (agent) => {
  await using rig = await Rig.open()
  rig.model.script('alice', agent.shell('env -0 > "$HOME/variables"'))
  await rig.play(agent, 'alice').finished
  const [event] = rig.events()
  const variables = readFileSync(join(rig.tmp, 'variables'), 'utf8').split('\0')
  const end = `=${event?.json.session_id}`
  const named = variables.filter((pair) => pair.endsWith(end)).map((pair) => pair.slice(0, -end.length))
  noteVariables(agent.name, named)
  expect(named).toContain(agent.sessionVariable)
})

test('a Monitor of Claude Code is refused as a command is', async () => {
  await using rig = await Rig.open('--wait', '0')
  rig.model.script('alice', claude.shell('echo alice >> log.txt'), rig.doneAfterAttempt('bob'))
  const alice = rig.play(claude, 'alice')
  await rig.wrote('alice')
  const input = { command: 'echo bob >> log.txt', description: 'A watch', timeout_ms: 5000 }
  rig.model.script('bob', { tool: 'Monitor', input })
  await rig.play(claude, 'bob', '--allowedTools', 'Monitor').finished
  expect(rig.model.results('bob')).toEqual([refused])
  await alice.finished
  expect(rig.writes()).toEqual([{ text: 'alice', holders: ['alice'] }])
})

test('a subagent that works on after the turn of its session keeps the claim', async () => {
  await using rig = await Rig.open('--wait', '0')
  const input = { description: 'Help', prompt: 'play helper', subagent_type: 'general-purpose' }
  rig.model.script('alice', { tool: 'Agent', input })
  rig.model.script('helper', claude.shell('echo one >> log.txt'), rig.doneAfterAttempt('bob'))
  const alice = rig.play(claude, 'alice', '--allowedTools', 'Bash,Agent')
  await rig.wrote('one')
  await rig.heard('Stop', 'alice')
  expect(await rig.attempt(codex, 'bob')).toEqual(refused)
  await alice.finished
  expect(await rig.attempt(codex, 'carol')).not.toEqual(refused)
  expect(rig.writes().map(({ text }) => text)).toEqual(['one', 'carol'])
})

test.each(agents)(
  '$name starts Node for at most 5 % of the events of its calls; a patch of Codex always does',
  async (agent) => {
    await using rig = await Rig.open()
    const trace = join(rig.tmp, 'trace')
    const steps = Array.from({ length: 40 }, (_, at) =>
      at % 2 === 0 || agent === codex
        ? agent.shell(`echo ${at} >> log.txt`)
        : agent.edit(join(rig.repository, `file-${at}.txt`), `edit ${at}`),
    )
    rig.model.script('alice', ...steps)
    // Prints the environment, too: the script hands the event over to Node in a variable.
    const tracer = ['strace', '-f', '-qq', '-v', '-s', '4096', '-e', 'trace=execve', '-o', trace]
    const [command = '', ...args] = [...tracer, ...agent.headless('play alice')]
    await rig.start(command, args, { cwd: rig.repository }).finished
    const sent = rig.sent('alice').filter((name) => /^(Pre|Post)ToolUse$/.test(name)).length
    // A start that strace shows in two lines has no result in the first.
    const lines = readFileSync(trace, 'utf8').split('\n')
    const starts = lines.filter((line) => line.includes('execve("') && !line.includes(') = -1 '))
    const scripts = starts.filter((line) => /execve\("[^"]*stint-hook\.sh"/.test(line)).length
    const byNode = starts.filter(
      (line) => line.includes('stint-hook.cjs') && /hook_event_name\\":\\"(Pre|Post)ToolUse\\"/.test(line),
    ).length
    noteStarts(agent.name, { sent, byNode })
    expect(sent).toBe(80)
    expect(scripts).toBeGreaterThanOrEqual(sent)
    expect(byNode).toBeGreaterThan(0)
    expect(byNode).toBeLessThanOrEqual(0.05 * sent)
  },
)

test('Codex trusts hooks by their command: stint says untrusted, trusted, and modified after a changed option', async () => {
  await using rig = await Rig.open()
  const said = async (): Promise<unknown[]> => {
    const status = await rig.stint(['hook', 'status', 'codex', '--json'], { cwd: rig.repository })
    const { hooks } = status.envelope().data as { hooks: { trust: string }[] }
    const doctor = await rig.stint(['doctor', '--json'], { cwd: rig.repository })
    return [hooks[0]?.trust, doctor.stdout.includes('enter /hooks and press t')]
  }
  expect(await said()).toEqual(['untrusted', true])
  await trustHooks(rig)
  expect(await said()).toEqual(['trusted', false])
  const { stdout } = await rig.stint(['hook', 'install', 'codex', '--wait', '9s', '--json'])
  expect(stdout).toContain('have changed since you trusted them, and so refuses no call')
  expect(await said()).toEqual(['modified', true])
  await trustHooks(rig)
  expect(await said()).toEqual(['trusted', false])
})
