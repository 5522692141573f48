import type { CommandGroup } from '../command/spec.ts'
import { version } from './version.ts'

export const stint: CommandGroup = {
  name: 'stint',
  version,
  summary: 'Every run gets its own temp directory, and leaves nothing behind.',
  commands: {
    run: {
      summary: 'run any program in a scratch of its own',
      load: async () => (await import('./run.ts')).run,
    },
    lock: {
      summary: 'claim a workspace, so that nobody else edits it',
      load: async () => (await import('./lock/lock.ts')).lock,
    },
    hook: {
      summary: 'have agents and git ask before they change files',
      load: async () => (await import('./hook/hook.ts')).hook,
    },
    sessions: {
      summary: 'durable records of what was done: list, tail, fork, verify, repair',
      load: async () => (await import('./sessions/sessions.ts')).sessions,
    },
    audit: {
      summary: 'what was intended, and what came of it',
      load: async () => (await import('./audit/audit.ts')).audit,
    },
    status: {
      summary: 'who holds what, what runs, what to do about it',
      load: async () => (await import('./status/status.ts')).statusCommand,
    },
    doctor: {
      summary: 'can everything work here? What can be done about it?',
      load: async () => (await import('./doctor/doctor.ts')).doctorCommand,
    },
    sweep: {
      summary: 'remove what dead runs left behind',
      load: async () => (await import('./sweep.ts')).sweepCommand,
    },
    temp: {
      summary: 'see what there is: sizes, owners, orphans, history',
      load: async () => (await import('./temp/temp.ts')).temp,
    },
    postgres: {
      summary: 'leases for more than one machine',
      load: async () => (await import('./postgres/postgres.ts')).postgres,
    },
    demo: {
      summary: 'see it work, in a minute',
      load: async () => (await import('./demo/demo.ts')).demoCommand,
    },
    completion: {
      summary: 'completion for your shell',
      load: async () => (await import('./completion/completion.ts')).completionCommand,
    },
  },
  examples: [
    ['stint run -- npm test', 'TMPDIR is private to this run and gone after it'],
    ['stint sweep --dry-run', 'see what dead runs have left'],
  ],
}
