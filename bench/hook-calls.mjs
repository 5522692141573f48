// Calls of an agent's tools, as Claude Code tells its hooks about them. This process is the agent.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment, run } from './processes.mjs'

/** An event before (`PreToolUse`) or after a call, with its properties in the agent's order. */
export const event = (name, { session, cwd, call = `call-${session}`, file, command = 'npm test' }) =>
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
    ...(name === 'PostToolUse' && { tool_response: { stdout: 'ok\n'.repeat(40), stderr: '' } }),
    tool_use_id: call,
  })

/** A repository, a home, and the two ways to start the hook: `script` and `hook`. */
export function openWorkspace({ place, stint }, name) {
  const [home, workspace] = ['home', 'work'].map((part) => join(place.base, `hook-${name}-${part}`))
  for (const path of [home, join(workspace, '.git')]) mkdirSync(path, { recursive: true, mode: 0o700 })
  const at = dirname(stint.bin)
  const hook = [process.execPath, join(at, 'stint-hook.cjs'), 'claude']
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

/**
 * The CPU time in nanoseconds of one of `count` runs of a command. Bash measures that of its children, so it
 * is the agent; the script runs once before, and gets it a pass.
 */
export function cpuOf({ place, env, script }, command, input, count = 10) {
  const words = `export CLAUDE_PID=$$; eval "$FIRST" <"$INPUT"; TIMEFORMAT='%U %S'
    time for i in {1..${count}}; do "$@" <"$INPUT" >/dev/null 2>&1; done`
  const first = script.map((word) => `'${word}'`).join(' ')
  const options = { env: { ...environment(place), ...env, INPUT: input, FIRST: first }, encoding: 'utf8' }
  const { stderr, error } = spawnSync('bash', ['-c', words, 'bash', ...command], options)
  if (error !== undefined) throw error
  const [user, system] = stderr.trim().split('\n').at(-1).split(' ').map(Number)
  return ((user + system) * 1e9) / count
}
