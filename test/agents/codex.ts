import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Terminal } from '../support/terminal.ts'
import { until } from '../support/world.ts'
import type { Agent, Rig } from './rig.ts'

/** Codex from npm. */
export const codex: Agent = {
  name: 'codex',
  sessionVariable: 'CODEX_THREAD_ID',
  question: /Would you like to run/,
  events: [
    'PreToolUse',
    'PostToolUse',
    'PermissionRequest',
    'UserPromptSubmit',
    'SubagentStart',
    'SubagentStop',
    'Stop',
    'Interrupt',
    'SessionStart',
    'SessionEnd',
  ],
  configure(rig, hooks) {
    const home = join(rig.tmp, '.codex')
    mkdirSync(home)
    writeFileSync(join(home, 'hooks.json'), JSON.stringify({ hooks }, undefined, 2))
    const config = `
model = "stand-in"
model_provider = "stand-in"
check_for_update_on_startup = false

[model_providers.stand-in]
name = "stand-in"
base_url = "${rig.model.url}/v1"
wire_api = "responses"

[analytics]
enabled = false

[projects."${rig.repository}"]
trust_level = "trusted"
`
    writeFileSync(join(home, 'config.toml'), config)
  },
  headless: (prompt) => ['codex', 'exec', ...trustsHooks, ...asksNothing, prompt],
  interactive: (prompt, asks) => [
    'codex',
    ...trustsHooks,
    ...(asks ? ['--ask-for-approval', 'on-request', '--sandbox', 'workspace-write'] : asksNothing),
    prompt,
  ],
  shell: (command) => ({ tool: 'exec_command', input: { cmd: command } }),
  asking: (command) => ({
    tool: 'exec_command',
    input: { cmd: command, sandbox_permissions: 'require_escalated', justification: 'A step' },
  }),
  // Codex takes this command for its tool apply_patch.
  edit: (path, line) => {
    const patch = `*** Begin Patch\n*** Add File: ${path}\n+${line}\n*** End Patch`
    return { tool: 'exec_command', input: { cmd: `apply_patch <<'EOF'\n${patch}\nEOF\n` } }
  },
  mcp: (tool, input) => ({ tool, namespace: 'mcp__stint', input }),
  // Codex lets a command go on in the background if it takes longer than this.
  background: (command) => ({ tool: 'exec_command', input: { cmd: command, yield_time_ms: 250 } }),
}

const trustsHooks = ['--dangerously-bypass-hook-trust']
const asksNothing = ['--dangerously-bypass-approvals-and-sandbox']

/**
 * Starts the server that all windows of Codex share. It takes no options from its windows, so the hooks are
 * trusted first, as a user does with `/hooks`. Returns how such a window is opened.
 */
export async function startDaemon(rig: Rig): Promise<Agent> {
  const states = (await listHooks(rig)).map(
    ({ key, currentHash }) => `[hooks.state.${JSON.stringify(key)}]\ntrusted_hash = "${currentHash}"\n`,
  )
  appendFileSync(join(rig.tmp, '.codex/config.toml'), states.join('\n'))
  await rig.start('codex', ['app-server', 'daemon', 'start'], { cwd: rig.repository }).finished
  return { ...codex, interactive: (prompt) => ['codex', ...asksNothing, prompt] }
}

/** Trusts all hooks as a user does whom Codex asks at its start; `/hooks` and `t` do the same later. */
export async function trustHooks(rig: Rig): Promise<void> {
  const config = join(rig.tmp, '.codex/config.toml')
  const before = readFileSync(config, 'utf8')
  await using terminal = await Terminal.open(rig, ['sh', '-i'], 'window-hooks')
  terminal.resize(120, 40)
  terminal.enter(`cd ${rig.repository} && codex ${asksNothing.join(' ')}`)
  await rig.answer(terminal, { question: /› 1\. Review hooks/ }, '2')
  await rig.answer(terminal, { question: /› 2\. Trust all and continue/ }, 'Enter')
  await until('Codex has kept the answer', () => readFileSync(config, 'utf8') !== before)
}

interface ListedHook {
  key: string
  currentHash: string
}

/** Asks Codex for its hooks and their hashes, by its protocol for editors. */
async function listHooks(rig: Rig): Promise<ListedHook[]> {
  const server = spawn('codex', ['app-server'], {
    cwd: rig.repository,
    env: rig.env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise((resolve) => server.once('close', resolve))
  let output = ''
  server.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const clientInfo = { name: 'stint', title: 'stint', version: '0' }
  for (const request of [
    { id: 1, method: 'initialize', params: { clientInfo } },
    { method: 'initialized' },
    { id: 2, method: 'hooks/list', params: { cwds: [rig.repository] } },
  ])
    server.stdin.write(`${JSON.stringify(request)}\n`)
  const reply = (): string | undefined =>
    output
      .split('\n')
      .slice(0, -1)
      .find((line) => line.startsWith('{"id":2,'))
  await until('Codex lists its hooks', reply)
  server.stdin.end()
  await ended
  const { result } = JSON.parse(reply() ?? '') as { result: { data: { hooks: ListedHook[] }[] } }
  return result.data.flatMap(({ hooks }) => hooks)
}
