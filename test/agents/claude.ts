import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Step } from './model.ts'
import type { Agent } from './rig.ts'

/** `mcp__stint` stands for all tools of that server. */
const allowed = 'Bash,Edit,Write,mcp__stint'

const shell = (command: string): Step => ({ tool: 'Bash', input: { command, description: 'A step' } })

/** Claude Code from npm. */
export const claude: Agent = {
  name: 'claude',
  sessionVariable: 'CLAUDE_CODE_SESSION_ID',
  question: /Do you want to proceed/,
  events: [
    'PreToolUse',
    'PostToolUse',
    'PostToolUseFailure',
    'PostToolBatch',
    'PermissionRequest',
    'PermissionDenied',
    'Notification',
    'UserPromptSubmit',
    'SubagentStart',
    'SubagentStop',
    'Stop',
    'StopFailure',
    'SessionStart',
    'SessionEnd',
  ],
  configure(rig, hooks) {
    Object.assign(rig.env, {
      ANTHROPIC_BASE_URL: rig.model.url,
      ANTHROPIC_AUTH_TOKEN: 'stand-in',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    })
    mkdirSync(join(rig.tmp, '.claude'))
    writeFileSync(join(rig.tmp, '.claude/settings.json'), JSON.stringify({ hooks }, undefined, 2))
    const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true }
    const state = {
      hasCompletedOnboarding: true,
      theme: 'dark',
      autoUpdates: false,
      projects: { [rig.repository]: trusted },
    }
    writeFileSync(join(rig.tmp, '.claude.json'), JSON.stringify(state))
  },
  headless: (prompt) => ['claude', '-p', prompt, '--allowedTools', allowed],
  interactive: (prompt, asks) => [
    'claude',
    prompt,
    '--permission-mode',
    'default',
    ...(asks ? [] : ['--allowedTools', allowed]),
  ],
  shell,
  asking: shell,
  edit: (path, line) => ({ tool: 'Write', input: { file_path: path, content: `${line}\n` } }),
  mcp: (tool, input) => ({ tool: `mcp__stint__${tool}`, input }),
  background: (command) => ({
    tool: 'Bash',
    input: { command, description: 'A step', run_in_background: true },
  }),
}
