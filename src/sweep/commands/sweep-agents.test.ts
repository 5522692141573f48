import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Finished, stintBin, World } from '../../../test/support/world.ts'
import type { AgentsSweepData } from './sweep-agents.ts'

let world: World
let output: string
const session = randomUUID()
beforeEach(() => {
  world = new World()
  output = join(world.tmp, `claude-${process.geteuid?.()}/-project`, session)
  mkdirSync(join(output, 'tasks'), { recursive: true })
  writeFileSync(join(output, 'tasks/b1.output'), 'text')
  Object.assign(world.env, { HOME: world.tmp, TMPDIR: world.tmp, ORPHANS: join(world.tmp, 'orphans') })
})
afterEach(() => world[Symbol.asyncDispose]())

/**
 * Starts an agent with a command that goes on, and then runs `script`, in a process table of its own: the
 * machine may have agents, too. `end` kills the agent.
 */
function afterKill(script: string): Promise<Finished> {
  const lines = [
    'cp /bin/sh "$HOME/claude"',
    `agent='CLAUDE_CODE_SESSION_ID=${session} CLAUDE_PID=$$ setsid sh -c "exec sleep 1000" & echo $! > $ORPHANS; read x'`,
    'mkfifo "$HOME/pipe"; exec 9<>"$HOME/pipe"',
    '"$HOME/claude" -c "$agent" <&9 & agent=$!',
    'until [ -s "$ORPHANS" ] && grep -aqs sleep /proc/$(cat "$ORPHANS")/cmdline; do :; done',
    'stint() { "$NODE" "$BIN" "$@"; }',
    'isAlive() { [ "$(cut -d " " -f 3 /proc/$(cat "$ORPHANS")/stat 2>/dev/null || echo Z)" != Z ]; }',
    'end() { kill -9 $agent; wait $agent 2>/dev/null; }',
    script,
  ]
  Object.assign(world.env, { NODE: process.execPath, BIN: stintBin })
  return world.unshare(['--pid', '--fork', '--mount-proc'], 'sh', ['-c', lines.join('\n')])
}

const dataOf = ({ stdout }: Finished): AgentsSweepData =>
  (JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { data: AgentsSweepData }).data

test('processes and temp files of a killed agent are named, ended and removed', async () => {
  const finished = await afterKill('end; stint sweep --scope agents --yes --json; isAlive && echo ALIVE >&2')
  expect(finished.stderr).toBe('')
  const { processes, files } = dataOf(finished)
  expect(processes).toEqual([
    expect.objectContaining({ agent: 'claude', session_id: session, command: 'sleep 1000', end: 'ended' }),
  ])
  expect(files).toEqual([expect.objectContaining({ kind: 'temp', path: output, removed: true })])
  expect(existsSync(output)).toBe(false)
})

test('while the agent lives, there is nothing to remove', async () => {
  const note = `echo '{"sessionId":"${session}"}' > "$HOME/.claude/sessions/$agent.json"`
  const script = `mkdir -p "$HOME/.claude/sessions"; ${note}; stint sweep --scope agents --yes --json; isAlive && echo alive >&2`
  const finished = await afterKill(script)
  expect(finished.stderr).toBe('alive\n')
  expect(dataOf(finished)).toMatchObject({ processes: [], files: [] })
  expect(existsSync(output)).toBe(true)
})

test('a dry run, and a sweep that cannot ask, change nothing', async () => {
  const dry = await afterKill(
    'end; STINT_OUTPUT= stint sweep --scope agents --dry-run; isAlive && echo alive >&2',
  )
  expect(dry.stderr).toBe('alive\n')
  expect(dry.stdout).toContain('sleep 1000')
  expect(dry.stdout).toContain('would end and remove 1 process, 1 file or directory')
  expect(existsSync(output)).toBe(true)
})

test('without a terminal it needs --yes', async () => {
  const unasked = await afterKill('end; stint sweep --scope agents --json; isAlive && echo alive >&2')
  expect(unasked.stderr).toBe('alive\n')
  expect(unasked.stdout).toContain('needs --yes where there is no terminal to ask on')
  expect(existsSync(output)).toBe(true)
})

test('what agents left is no part of a sweep of everything', async () => {
  const all = await afterKill(
    'end; stint sweep --json; stint sweep --scope all --json; isAlive && echo alive >&2',
  )
  expect(all.stderr).toBe('alive\n')
  expect(existsSync(output)).toBe(true)
})

test('an age does not go with it', async () => {
  const { code, stdout } = await world.stint(['sweep', '--scope', 'agents', '--older-than', '1d', '--yes'])
  expect(code).toBe(2)
  expect(stdout).toContain('goes with neither --older-than nor --vault')
})
