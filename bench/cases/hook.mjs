import assert from 'node:assert/strict'
import { closeSync, mkdirSync, openSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { run, settle } from '../processes.mjs'

const event = (session, cwd) =>
  JSON.stringify({
    session_id: session,
    transcript_path: '/home/u/.claude/projects/p/s.jsonl',
    cwd,
    permission_mode: 'default',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'npm test', description: 'Run the tests' },
    tool_use_id: `call-${session}`,
  })

/** A workspace held by `holder`, and the event of `caller` before a tool call. */
function stage({ place, stint }, holder, caller) {
  const [home, workspace] = ['home', 'work'].map((name) =>
    join(place.base, `hook-${holder}-${caller}-${name}`),
  )
  for (const path of [home, join(workspace, '.git')]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const input = join(workspace, 'event.json')
  const hook = join(dirname(stint.bin), 'stint-hook.cjs')
  const state = { place, input, home, hook, env: { STINT_HOME: home, CLAUDE_PID: String(process.pid) } }
  writeFileSync(input, event(holder, workspace))
  pass(state, [process.execPath, hook, 'claude'])
  writeFileSync(input, event(caller, workspace))
  return state
}

/** Runs a command with the event on stdin. */
function pass({ place, input, env }, command, exit = 0) {
  const stdin = openSync(input, 'r')
  try {
    return run(command, place, [stdin, 'pipe', 'pipe'], { env, exit })
  } finally {
    closeSync(stdin)
  }
}

const contender = (name, command, { exit = 0, check = () => {}, floor = false } = {}) => ({
  name,
  floor,
  check: (state) => check(state, pass(state, command(state), exit).stdout),
  async run(state) {
    await settle()
    const { start, end } = pass(state, command(state), exit)
    return Number(end - start)
  },
})

const hook = (state) => [process.execPath, state.hook, 'claude']
const node = contender('node -e 0', () => [process.execPath, '-e', '0'], { floor: true })
const shell = contender('sh -c :', () => ['sh', '-c', ':'])

/** Checks that the claim exists and belongs to the caller. */
function assertGranted({ home }) {
  const [key] = readdirSync(join(home, 'locks'))
  const top = Math.max(
    ...readdirSync(join(home, 'locks', key))
      .map(Number)
      .filter(Number.isInteger),
  )
  assert.match(readlinkSync(join(home, 'locks', key, String(top))), /"session_id":"mine".*"calls":\[\{"id"/s)
}

const bench = {
  unit: 'ms',
  rounds: 60,
  warmUp: 3,
  subject: 'stint-hook',
  targets: [{ against: 'node -e 0', atMost: 1.1 }],
  teardown: ({ home }) => rmSync(home, { recursive: true, force: true }),
}

export default [
  {
    ...bench,
    name: 'hook-free',
    about: 'wall time of the hook before a tool call, in a free workspace',
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
    name: 'hook-record',
    about: 'wall time of the hook with --record, which syncs the call to disk before it allows it',
    subject: 'stint-hook --record',
    targets: [],
    setup: (parts) => stage(parts, 'mine', 'mine'),
    contenders: [
      contender('stint-hook --record', (state) => [...hook(state), '--record'], {
        check: ({ home }) => assert.equal(readdirSync(join(home, 'hook-queue')).length, 1),
      }),
      contender('stint-hook', hook),
      node,
    ],
  },
]
