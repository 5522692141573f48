import { type Host, shortPatienceMs } from './host.ts'
import { claudeFields } from './claude.ts'

/** No agent, but every agent's shell uses it. Of a `reference-transaction`, only `prepared` can refuse. */
export const git = (): Host => ({
  name: 'git',
  title: 'git',
  events: [
    { name: 'pre-commit', kind: 'pre' },
    { name: 'pre-merge-commit', kind: 'pre' },
    { name: 'pre-rebase', kind: 'pre' },
    { name: 'pre-push', kind: 'pre' },
    { name: 'reference-transaction', kind: 'pre' },
    // The last one cannot refuse: git has no hook before it switches to a branch or replaces files.
    { name: 'post-checkout', kind: 'post' },
  ],
  // git sends no JSON; the guard passes the name of the hook as an argument.
  patienceMs: shortPatienceMs,
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: [],
  edits: [],
  shells: [],
  posixShells: [],
  blocksOnNonzeroExit: true,
  // A person at a terminal reads stderr. No failure of the guard itself has exit code 2.
  refusalExitCode: 2,
  usesScript: true,
})
