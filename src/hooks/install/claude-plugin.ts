import { hookEntries } from './edit-hooks.ts'

/**
 * Makes the files of a plugin for Claude Code: the hooks that stint writes into its settings, and a command.
 * The build adds a copy of stint-hook, since Claude Code copies a plugin away from the rest of stint.
 */
export function claudePlugin(version: string): Record<string, string> {
  return {
    '.claude-plugin/plugin.json': json({
      name: 'stint',
      version,
      description,
      author,
      license: 'MIT',
      keywords,
    }),
    '.claude-plugin/marketplace.json': json({
      name: 'stint',
      owner: author,
      description,
      plugins: [{ name: 'stint', source: './', version, description }],
    }),
    'hooks/hooks.json': json({ description, hooks: pluginHooks() }),
    'commands/sessions.md': sessions,
  }
}

const description =
  'Keeps two sessions from changing one workspace at once: each tool call checks for another holder first.'
const author = { name: 'stint' }
const keywords = ['lock', 'session', 'workspace', 'worktree']

/** Stands for the plugin's directory, which is only known when the hook starts, and may contain blanks. */
const root = 'PLUGIN_ROOT'

function pluginHooks(): Record<string, unknown[]> {
  // The script finds node and the hook itself. As in a shared file, it must not block a user who has no node.
  const program = [`${root}/hook/stint-hook.sh`]
  const entries = hookEntries('claude', { program, place: 'project' })
  return Object.fromEntries(
    entries.map(({ event, matcher, handler }) => [
      event,
      [{ ...(matcher === undefined ? {} : { matcher }), hooks: [withRoot(handler)] }],
    ]),
  )
}

const withRoot = (handler: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
  ...handler,
  command: String(handler.command).replace(root, '"${CLAUDE_PLUGIN_ROOT}"'),
})

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const sessions = `---
description: Show which sessions hold this workspace and others
allowed-tools: Bash(stint lock status:*)
---

This workspace:

!\`stint lock status --json || echo 'stint is not on PATH: npm install --global stint'\`

All workspaces:

!\`stint lock status --all --json || true\`

Tell the user, in a short table, which session holds which workspace or paths, for what purpose, since when, and when
the claim expires without a refresh. Mark this session ($CLAUDE_CODE_SESSION_ID) if it is among them. If nothing is
held, say so in one sentence. Change nothing.
`
