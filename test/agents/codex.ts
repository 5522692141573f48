import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from './rig.ts'

/** Codex from npm. */
export const codex: Agent = {
  name: 'codex',
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
  // Codex lets a command go on in the background if it takes longer than this.
  background: (command) => ({ tool: 'exec_command', input: { cmd: command, yield_time_ms: 250 } }),
}

const trustsHooks = ['--dangerously-bypass-hook-trust']
const asksNothing = ['--dangerously-bypass-approvals-and-sandbox']
