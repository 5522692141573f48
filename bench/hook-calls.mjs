// Calls of an agent's tools, as Claude Code tells its hooks about them. This process is the agent.
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { program } from './prepare.mjs'
import { run } from './processes.mjs'

/** An event before (`PreToolUse`) or after a call, with its properties in the agent's order. */
export const event = (
  name,
  { session, cwd, call = `call-${session}`, file, command = 'npm test', result = 'ok\n'.repeat(40) },
) =>
  JSON.stringify({
    session_id: session,
    transcript_path: '/home/u/.claude/projects/p/s.jsonl',
    cwd,
    permission_mode: 'default',
    hook_event_name: name,
    tool_name: file === undefined ? 'Bash' : 'Edit',
    tool_input:
      file === undefined
        ? { command, description: 'Run the tests' }
        : { file_path: file, old_string: 'const a = 1', new_string: 'const a = 2' },
    ...(name === 'PostToolUse' && { tool_response: { stdout: result, stderr: '' } }),
    tool_use_id: call,
  })

/** A repository, a home, and the two ways to start the hook: `script` and `hook`. */
export function openWorkspace({ place, stint }, name) {
  const [home, workspace] = ['home', 'work'].map((part) => join(place.base, `hook-${name}-${part}`))
  for (const path of [home, join(workspace, '.git')]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const at = dirname(stint.bin)
  // Restore points have cases of their own.
  const hook = [process.execPath, join(at, 'stint-hook.cjs'), 'claude', '--no-undo']
  const env = { STINT_HOME: home, CLAUDE_PID: String(process.pid) }
  return { place, home, workspace, env, hook, script: [join(at, 'stint-hook.sh'), ...hook] }
}

/** Writes an event to a file, and returns its path. */
export function eventFile({ workspace }, name, text) {
  const path = join(workspace, `${name}.json`)
  writeFileSync(path, text)
  return path
}

/** Runs a command with a file on stdin. */
export function pass({ place, env }, command, input, exit = 0) {
  const stdin = openSync(input, 'r')
  try {
    return run(command, place, [stdin, 'pipe', 'pipe'], { env, exit })
  } finally {
    closeSync(stdin)
  }
}

/** CPU and wall time of a command in nanoseconds, of `count` runs after an event that leaves a pass. */
export function timesOf({ place, home, env, script, before }, command, input, count = 10) {
  // The program is another agent: the claim of this process would be in its way.
  rmSync(home, { recursive: true, force: true })
  const args = [String(count), before, input, ...script, '--', ...command]
  const { stdout } = run([program('time-of'), ...args], place, ['ignore', 'pipe', 'inherit'], { env })
  const [cpu, wall] = stdout.split(' ').map(Number)
  return { cpu, wall }
}
