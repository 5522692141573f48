import type { Host } from '../host.ts'
import { claudeFields } from './claude.ts'

/** Not an agent, but every agent's shell uses it. Only `prepared` of `reference-transaction` counts. */
export const git: Host = {
  name: 'git',
  title: 'git',
  events: [
    { name: 'pre-commit', kind: 'pre' },
    { name: 'reference-transaction', kind: 'pre' },
  ],
  // git sends no JSON; the guard passes the name of the hook as an argument.
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: [],
  edits: [],
  shells: [],
  posixShells: [],
  renamesSessions: false,
  sharesSettings: false,
  blocksOnNonzeroExit: true,
  // A person at a terminal reads stderr. No failure of the guard itself has exit code 2.
  refusalExitCode: 2,
}
