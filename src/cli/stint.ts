import type { CommandGroup } from '../command/define-command.ts'

/** The version in package.json; a test compares the two. */
export const version = '0.1.0'

export const stintCommands: CommandGroup = {
  name: 'stint',
  version,
  summary: "Keeps agents and tools out of each other's way, and keeps what they did.",
  defaultCommand: {
    summary: 'show what is here, what is at risk, and what to do next',
    load: async () => (await import('./status/status.ts')).overviewCommand,
  },
  everyday: ['init', 'status', 'undo', 'vault', 'run', 'ui', 'doctor'],
  commands: {
    init: {
      summary: 'set everything up for the agents you have, or take it back',
      load: async () => (await import('./init/init.ts')).initCommand,
    },
    run: {
      summary: 'run any program in its own temp directory',
      load: async () => (await import('../command/commands/run.ts')).run,
    },
    lock: {
      summary: 'claim a workspace, so that no other session edits it',
      load: async () => (await import('../lease/commands/lock.ts')).lock,
    },
    hook: {
      summary: 'make agents and git ask before they change files',
      load: async () => (await import('../hooks/commands/hook.ts')).hook,
    },
    changes: {
      summary: 'show which session changed what in this workspace',
      load: async () => (await import('../points/commands/changes.ts')).changesCommand,
    },
    diff: {
      summary: 'show what a session or a turn changed, as a diff',
      load: async () => (await import('../points/commands/diff.ts')).diffCommand,
    },
    undo: {
      summary: 'take back what a session or a turn changed',
      load: async () => (await import('../points/commands/undo.ts')).undoCommand,
    },
    redo: {
      summary: 'take the last undo back',
      load: async () => (await import('../points/commands/undo.ts')).redoCommand,
    },
    sessions: {
      summary: 'show and maintain durable sessions',
      load: async () => (await import('../session/commands/sessions.ts')).sessions,
    },
    audit: {
      summary: 'show acts that sessions recorded: intent and outcome',
      load: async () => (await import('../session/commands/audit.ts')).audit,
    },
    vault: {
      summary: "keep the agents' conversations, and give them back",
      load: async () => (await import('../vault/commands/vault.ts')).vaultCommands,
    },
    mcp: {
      summary: 'let agents ask who works where, claim files and wait',
      load: async () => (await import('../mcp/commands/mcp.ts')).mcp,
    },
    status: {
      summary: 'show who works where, what runs, and what to do',
      load: async () => (await import('./status/status.ts')).statusCommand,
    },
    ui: {
      summary: 'open a page on this machine that shows who does what',
      load: async () => (await import('../ui/commands/ui.ts')).uiCommand,
    },
    doctor: {
      summary: 'check that everything can work here',
      load: async () => (await import('./health/doctor.ts')).doctorCommand,
    },
    sweep: {
      summary: 'remove what dead runs left behind',
      load: async () => (await import('../sweep/commands/sweep.ts')).sweepCommand,
    },
    temp: {
      summary: 'show what is in the temp directory: sizes, owners, orphans, history',
      load: async () => (await import('../sweep/commands/temp.ts')).temp,
    },
    postgres: {
      summary: 'keep leases and sessions for several machines on a server',
      load: async () => (await import('../postgres/commands/postgres.ts')).postgres,
    },
    demo: {
      summary: 'see stint at work, in half a minute',
      load: async () => (await import('./demo/demo.ts')).demoCommand,
    },
    completion: {
      summary: 'print the completion script for your shell',
      load: async () => (await import('./completion/completion.ts')).completionCommand,
    },
  },
  examples: [
    ['stint demo', 'what stint does, shown with real processes'],
    ['stint init', 'set it up for the agents you run'],
    ['stint run --lock -- npm test', 'alone in this workspace, with a private TMPDIR'],
  ],
}
