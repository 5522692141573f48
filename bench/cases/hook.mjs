import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { event, eventFile, openWorkspace, pass, timesOf } from '../hook-calls.mjs'
import { environment, settle } from '../processes.mjs'

/** A workspace held by `holder`, and the event of `caller` before a tool call. */
function stage(parts, holder, caller) {
  const state = openWorkspace(parts, `${holder}-${caller}`)
  const before = (session) => event('PreToolUse', { session, cwd: state.workspace })
  pass(state, state.hook, eventFile(state, 'event', before(holder)))
  return { ...state, input: eventFile(state, 'event', before(caller)) }
}

const contender = (name, command, options = {}) => {
  const { exit = 0, check = () => {}, floor = false, input = 'input', of = itself } = options
  return {
    name,
    floor,
    check: (all) => check(of(all), pass(of(all), command(of(all)), of(all)[input], exit).stdout),
    async run(all) {
      await settle()
      const state = of(all)
      const { start, end } = pass(state, command(state), state[input], exit)
      return Number(end - start)
    },
  }
}

const itself = (state) => state
const hook = (state) => state.hook
const emptyNode = () => [process.execPath, '-e', '0']
const node = contender('node -e 0', emptyNode, { floor: true })
const shell = contender('sh -c :', () => ['sh', '-c', ':'])

/** Checks that the claim exists and belongs to the caller. */
function assertGranted({ home }) {
  const [key] = readdirSync(join(home, 'locks'))
  const top = Math.max(
    ...readdirSync(join(home, 'locks', key))
      .map(Number)
      .filter(Number.isInteger),
  )
  assert.match(readFileSync(join(home, 'locks', key, String(top)), 'utf8'), /"session_id":"mine"/)
}

const bench = {
  unit: 'ms',
  rounds: 60,
  warmUp: 3,
  subject: 'stint-hook',
  targets: [{ against: 'node -e 0', atMost: 1.15 }],
  teardown({ home, present = { home } }) {
    for (const each of [home, present.home]) rmSync(each, { recursive: true, force: true })
  },
}

/**
 * A session that holds its workspace, and its events before and after a call. `present` is another, with a
 * home of its own: a hook that changes the claim ends the pass.
 */
const stagePassed = (parts) => ({ ...stageCalls(parts, 'passed'), present: stageCalls(parts, 'present') })

function stageCalls(parts, name) {
  const state = openWorkspace(parts, name)
  const file = (name, moment, result) =>
    eventFile(state, name, event(moment, { session: 'mine', cwd: state.workspace, result }))
  const before = file('before', 'PreToolUse')
  const [after, long] = [file('after', 'PostToolUse'), file('long', 'PostToolUse', longResult)]
  // Only the script's first call leaves a pass.
  pass(state, state.script, before)
  return { ...state, before, after, long, input: before }
}

/** About 30 KB in an event, with 2,000 quotes. */
const longResult = '  "name": "value", // text\n'.repeat(950)

/** The script, in an environment in which it cannot start Node. */
const script = ({ script }) => [script[0], '/no-node', ...script.slice(2)]

/** Checks that the script allows the call: without Node it could not end otherwise. */
const assertPassed = (input) => (state) => void pass(state, script(state), state[input])

const timed = (name, command, time, { input, of = itself, ...rest }) => ({
  name,
  check: () => {},
  run: (state) => timesOf(of(state), command(of(state)), of(state)[input])[time],
  ...rest,
})

/** A row of wall time, and one of CPU time. */
const passed = (input, when, call = 'a tool call') =>
  [
    ['passed', 'wall', 0.09],
    ['cpu', 'cpu', 0.1],
  ].map(([row, time, atMost]) => ({
    ...bench,
    name: `hook-${row}-${input}`,
    about: `${time} time of the hook ${when} ${call} of the session that holds the workspace, of 10 in a row`,
    rounds: 20,
    subject: 'stint-hook.sh',
    targets: [{ against: 'node -e 0', atMost }],
    setup: stagePassed,
    contenders: [
      timed('stint-hook.sh', script, time, { input, check: assertPassed(input) }),
      timed('stint-hook', hook, time, { input, of: ({ present }) => present }),
      timed('node -e 0', emptyNode, time, { input, floor: true }),
      timed('sh -c :', () => ['sh', '-c', ':'], time, { input }),
    ],
  }))

/** Three sessions that each hold a file of one workspace. */
const stagePaths = (parts) => ({ ...stageEdits(parts, 'paths'), present: stageEdits(parts, 'present-paths') })

function stageEdits(parts, name) {
  const state = openWorkspace(parts, name)
  const sessions = ['one', 'two', 'three'].map((session) => {
    const of = { session, cwd: state.workspace, file: join(state.workspace, `${session}.ts`) }
    return ['PreToolUse', 'PostToolUse'].map((name) =>
      eventFile(state, `${session}-${name}`, event(name, of)),
    )
  })
  const paths = { ...state, sessions }
  // The grants of the other sessions close the passes of the first; the second round renews them.
  for (let round = 0; round < 2; round++) editAll(paths, state.script)
  return paths
}

const scopePaths = ['--scope', 'paths']

/** An edit of each session, with the events before and after it. */
const editAll = (state, command) => {
  for (const events of state.sessions)
    for (const input of events) pass(state, [...command, ...scopePaths], input)
}

const paths = (name, command, of = itself) => ({
  name,
  check: (state) => editAll(of(state), command(state)),
  async run(state) {
    await settle()
    const start = process.hrtime.bigint()
    editAll(of(state), command(state))
    return Number(process.hrtime.bigint() - start)
  },
})

/** A session that has claimed nothing, and a command that only reads. */
function stageReading(parts) {
  const state = openWorkspace(parts, 'reading')
  const text = event('PreToolUse', { session: 'mine', cwd: state.workspace, command: 'ls -la src' })
  return { ...state, input: eventFile(state, 'event', text) }
}

const turns = 50
const callsOfTurn = 20

/**
 * The calls of an agent: in each turn a prompt, 20 calls of which every other edits a file, and the end of
 * the turn. A call is the event before it, its command, and the event after it.
 */
function thousandCalls({ home, workspace, env, place }, command) {
  rmSync(home, { recursive: true, force: true })
  const options = { env: { ...environment(place), ...env } }
  const send = (text) => {
    if (command === undefined) return
    const { status } = spawnSync(command[0], command.slice(1), { ...options, input: text })
    assert.equal(status, 0)
  }
  const about = { session: 'mine', cwd: workspace }
  const moment = (hook_event_name) => JSON.stringify({ session_id: 'mine', cwd: workspace, hook_event_name })
  const start = process.hrtime.bigint()
  for (let turn = 0; turn < turns; turn++) {
    send(moment('UserPromptSubmit'))
    for (let index = 0; index < callsOfTurn; index++) {
      const file = index % 2 === 0 ? undefined : join(workspace, `file-${index % 6}.ts`)
      const call = { ...about, call: `call-${turn}-${index}`, file }
      send(event('PreToolUse', call))
      spawnSync('sh', ['-c', ':'], { ...options, stdio: 'ignore' })
      send(event('PostToolUse', call))
    }
    send(moment('Stop'))
  }
  return Number(process.hrtime.bigint() - start)
}

const thousand = (name, command, floor = false) => ({
  name,
  floor,
  check: () => {},
  run: (state) => thousandCalls(state, command(state)),
})

export default [
  ...passed('before', 'before'),
  ...passed('after', 'after'),
  ...passed('long', 'after', 'a tool call with a result of 30 KB,'),
  {
    ...bench,
    name: 'hook-free',
    about: 'wall time of the hook that decides about a tool call, in a workspace that its session holds',
    setup: (parts) => stage(parts, 'mine', 'mine'),
    contenders: [contender('stint-hook', hook, { check: assertGranted }), node, shell],
  },
  {
    ...bench,
    name: 'hook-held',
    about: 'wall time of the hook that refuses a tool call, in a workspace that another session holds',
    setup: (parts) => stage(parts, 'theirs', 'mine'),
    contenders: [
      contender('stint-hook', hook, {
        exit: 2,
        check: (_, stdout) => assert.match(stdout, /held by theirs \(pid/),
      }),
      node,
      shell,
    ],
  },
  {
    ...bench,
    name: 'hook-paths',
    about: 'wall time of one edit of each of three sessions with --scope paths: six events',
    rounds: 20,
    subject: 'stint-hook.sh',
    targets: [],
    setup: stagePaths,
    contenders: [paths('stint-hook.sh', script), paths('stint-hook', hook, ({ present }) => present)],
  },
  {
    ...bench,
    name: 'hook-reading',
    about: 'wall time of the hook before a command that only reads, of a session that claims nothing',
    rounds: 30,
    subject: 'stint-hook.sh',
    targets: [],
    setup: stageReading,
    contenders: [contender('stint-hook.sh', ({ script }) => script), contender('stint-hook', hook), node],
  },
  {
    ...bench,
    name: 'hook-thousand',
    about: `1,000 calls in ${turns} turns, with all events`,
    unit: 's',
    rounds: 3,
    warmUp: 0,
    subject: 'stint-hook.sh',
    targets: [{ against: 'stint-hook', atMost: 0.15 }],
    setup: (parts) => openWorkspace(parts, 'thousand'),
    contenders: [
      thousand('stint-hook.sh', ({ script }) => script),
      thousand('stint-hook', hook),
      thousand('no hook', () => undefined, true),
    ],
  },
  {
    ...bench,
    name: 'hook-record',
    about: 'wall time of the hook with --record, which syncs the call to disk before it allows it',
    subject: 'stint-hook --record',
    targets: [],
    setup: (parts) => stage(parts, 'mine', 'mine'),
    contenders: [
      contender('stint-hook --record', (state) => [...state.hook, '--record'], {
        check: ({ home }) => assert.ok(readdirSync(join(home, 'sessions')).includes('mine')),
      }),
      contender('stint-hook', hook),
      node,
    ],
  },
]
