/** A text for CLAUDE.md or AGENTS.md: what an agent must know of stint. `docs/hooks.md` has it, too. */
export const agentSnippet = `## Sharing this machine (stint)

Other agents may work on this machine, and in this directory. stint keeps us out of each other's way.

- **The lock.** Before a tool call that can change files, a hook claims this workspace for your session. You need
  not ask for it, and it is given back when your turn ends. Commands that only read always pass.
- **If a call is refused**, another session holds the workspace, and nothing was changed. The refusal says who,
  since when and for what. Do not look for a way around it: no other tool, no \`git stash\`, no \`stint lock break\`,
  no ending of processes.
  1. Go on with what only reads: files, \`git status\`, \`git diff\`, \`stint lock status\`.
  2. Wait with \`stint lock wait --timeout 60s\`, as a command of its own: exit 0 means free, 4 still held.
  3. Then try the call again. Read every file again before you edit it: the other session may have changed it.
  4. If it stays held, end your turn, and tell your user who holds it and what you were about to do.
- **The scratch.** Never write to fixed names in \`/tmp\`: others use them, too. Use \`mktemp\`, or let
  \`stint run -- COMMAND\` give a command a \`TMPDIR\` of its own, which is removed when it ends, even if it is killed.
- **The session.** stint can keep a durable record of what a session does. \`stint sessions list\` and
  \`stint sessions tail ID\` show what others did before you; \`stint lock history\` shows who held this workspace.
  Keep secrets out of commands and messages: name the variable, not its value.
- **If stint itself fails**, \`stint doctor\` says why. Tell your user; do not switch hooks off.
`
