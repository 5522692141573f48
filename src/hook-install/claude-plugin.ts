import { entriesOf } from './settings/entry.ts'

/**
 * The files of a plugin for Claude Code: the same hooks as in its settings, and a command. Made by the build, next to a copy of the hook itself, since a plugin is
 * copied to where nothing else of ours is.
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

const description = 'No two sessions change one workspace at once: a tool call asks first who holds it.'
const author = { name: 'stint' }
const keywords = ['lock', 'session', 'workspace', 'worktree']

/** Written into the command as Claude Code wants it: it may have blanks, and is known only when the hook is started. */
const root = 'PLUGIN_ROOT'

function pluginHooks(): Record<string, unknown[]> {
  const program = ['node', `${root}/hook/stint-hook.cjs`]
  // As in a file that others get: it must not block who has no node.
  const entries = entriesOf('claude', { program, place: 'project' })
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
description: Which sessions hold this workspace, and what is held elsewhere
allowed-tools: Bash(stint lock status:*), Bash(stint lock list:*)
---

This workspace:

!\`stint lock status --json || echo 'stint is not on PATH: npm install --global stint'\`

All workspaces:

!\`stint lock list --json || true\`

Tell the user, in a short table, who holds what: the session, the workspace or the paths in it, what for, since when, and until when
without a refresh. Say which of them is this session ($CLAUDE_CODE_SESSION_ID), if one is. Nothing held: one sentence. Change nothing.
`
