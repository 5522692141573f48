/** An error that a user can meet. Codes are API and change only in a major version; messages may change. */
export interface ErrorEntry {
  /** Process exit code when this error ends a command. */
  readonly exit: number
  /** True only if the identical call may succeed later and nothing has happened yet. */
  readonly retryable: boolean
  /** What the user can do about it; empty if the message says so. */
  readonly hint: string
}

const entry = (exit: number, hint: string, retryable = false): ErrorEntry => ({ exit, retryable, hint })

/** All errors by code, ordered by exit code; `docs/errors.md` has a section for each. */
export const errorTable = {
  // Its message says what is wrong; a command line also points to the help of its command.
  ARG_ERROR: entry(2, ''),
  NAME_INVALID: entry(2, 'Use a relative name without "..", empty parts or NUL.'),
  SESSION_ID_INVALID: entry(
    2,
    'Use letters, digits, ".", "_" and "-", at most 128, beginning with a letter or digit.',
  ),
  PARTIAL_FAILURE: entry(3, 'Everything else was done; with --json, `data` has each failure.'),
  ORPHANS_FOUND: entry(3, 'Run `stint sweep`, and find out what was killed before it could clean up.'),
  TEMP_DIR_UNSAFE: entry(
    4,
    'Set STINT_TMP_ROOT to a directory that is yours, or remove that path if it is your own.',
  ),
  TEMP_DIR_MISSING: entry(4, 'Create that directory, or set STINT_TMP_ROOT (or TMPDIR) to one that exists.'),
  READ_ONLY: entry(4, 'Set STINT_TMP_ROOT or STINT_HOME to a directory on a writable file system.'),
  HOME_UNSAFE: entry(4, 'Make it a directory that only you can write to, or set STINT_HOME to another one.'),
  HOME_FORMAT: entry(4, 'Move that directory away, or set STINT_HOME to another one.'),
  HOME_MISSING: entry(4, 'Create that directory, or set STINT_HOME to a directory whose parent exists.'),
  LOCK_HELD: entry(4, 'Wait for the holder (--wait), work in another workspace, or end that session.', true),
  LOCK_LOST: entry(
    4,
    'Stop writing: another session may work there now. Acquire the lease again before you go on.',
  ),
  LOCK_UNSUPPORTED: entry(4, 'Set STINT_HOME to a directory on a local file system.'),
  TIMER_UNSUPPORTED: entry(
    4,
    'Run `stint sweep` now and then; every `stint run` also sweeps when it starts.',
  ),
  BUDGET_EXCEEDED: entry(4, 'Raise --max-bytes or --max-files, or find out what fills the scratch.'),
  SESSION_CLOSED: entry(4, 'Open the session again before you write to it.'),
  SESSION_LOCKED: entry(4, 'Wait for its holder, or end it; `stint sessions fork` gives you a copy.', true),
  CHECKPOINT_STALE: entry(4, 'Run the graph again: it then begins with the newest checkpoint of its thread.'),
  FENCED: entry(4, 'Resume the session again: every append that was acknowledged is in it.'),
  JOURNAL_CORRUPT: entry(
    4,
    '`stint sessions verify` shows the damage; `stint sessions repair` copies what is intact.',
  ),
  AUDIT_CORRUPT: entry(
    4,
    '`stint audit verify` shows the damage; `stint sessions repair` copies what is intact.',
  ),
  BLOB_MISSING: entry(4, '`stint sessions verify` shows what is missing; restore it from a backup.'),
  VAULT_DAMAGED: entry(4, 'Restore an earlier generation (--generation N), or the file from a backup.'),
  SLOT_DRIFT: entry(4, 'Give the slot a `migrate`, or open it with the version that wrote it.'),
  SLOT_BROKEN: entry(4, 'Set the slot to a new value: the old one cannot be read.'),
  ACT_UNCERTAIN: entry(
    4,
    'Find out whether the act was done; then record that with `settle`, or repeat it with `again: true`.',
  ),
  ACT_FAILED: entry(4, 'If it is safe to repeat the act, do so with `again: true`.'),
  SETTINGS_INVALID: entry(4, 'Repair that file, then try again; nothing was changed.'),
  DOCTOR_FOUND: entry(4, 'Follow the advice beside each failure, then run `stint doctor` again.'),
  POINTS_OFF: entry(
    4,
    'Commit what you want to keep: only git repositories of at most 200,000 files have restore points.',
  ),
  POINT_FAILED: entry(4, 'Run `stint sweep`, which repairs the restore points, then try again.', true),
  POINT_DAMAGED: entry(4, 'Undo other change sets; `stint doctor` says what is missing.'),
  UNDO_CONFLICT: entry(
    4,
    'Nothing was changed. Undo what came later first, or other paths (`-- PATH`), or edit these by hand.',
  ),
  UNDO_NEEDS_FORCE: entry(4, 'Look at it with `stint diff`, then use --force.'),
  UNDO_STALE: entry(4, 'Look at the change again and repeat the command: nothing was changed.', true),
  UNDO_UNFINISHED: entry(4, 'Run `stint undo --continue` to finish it, or `stint undo --abort`.'),
  POSTGRES_SCHEMA: entry(4, 'Run `stint postgres migrate` once, as a role that may create a schema.'),
  POSTGRES_READ_ONLY: entry(4, 'Connect to the primary, as a role whose transactions may write.'),
  POSTGRES_POOL_MODE: entry(4, 'Set `pool_mode` of PgBouncer to transaction or session, or go around it.'),
  POSTGRES_CLIENT_MISSING: entry(4, 'Run `npm i pg` where stint is installed, or in this directory.'),
  SECRET_TOO_SHORT: entry(4, 'Use a longer secret, or leave it out: it cannot be kept off the disk.'),
  SECRET_UNSUPPORTED: entry(4, 'Use a random secret, in a variable (env:NAME) or a file (file:/path).'),
  SECRET_UNSAFE: entry(4, 'Make it a regular file of yours that nobody else may read: `chmod 600`.'),
  SECRET_LEAK: entry(4, 'This is a fault of stint: report what was being written, without the secret.'),
  SECRET_MISSING: entry(5, 'Set that variable, or write that file, then try again.'),
  PEER_MISSING: entry(5, 'Install that package in your project: npm install NAME.'),
  NOT_FOUND: entry(
    5,
    'Check the name; the `list` of the same command, or `stint changes`, shows what there is.',
  ),
  NAME_TAKEN: entry(6, 'Choose another name, or leave it out to get a new one.'),
  PORT_TAKEN: entry(6, 'Choose another --port, or leave it out to get a free one.'),
  ACT_MISMATCH: entry(6, 'Give each act a key of its own; nothing was done.'),
  RESUME_MISMATCH: entry(6, 'Resume it through the store that wrote it.'),
  LOCK_KEY_COLLISION: entry(6, 'Move one of the two workspaces, or set another STINT_HOME for it.'),
  PERMISSION_DENIED: entry(
    7,
    'Fix its permissions, or set STINT_TMP_ROOT or STINT_HOME to a directory you may write to.',
  ),
  POSTGRES_DENIED: entry(
    7,
    'Check the user, the password and the grants; docs/postgres.md lists what is needed.',
  ),
  TIMEOUT: entry(10, 'Give it more time with --timeout, or find out what it is waiting for.'),
  DISK_FULL: entry(12, 'Free some space (`stint sweep` removes what dead runs left), then try again.', true),
  FILE_TOO_LARGE: entry(
    12,
    'Raise the limit (`ulimit -f`), or use a file system that allows larger files, then try again.',
    true,
  ),
  DISK_FAILED: entry(12, 'Check the disk and the kernel log before you write anything more to it.'),
  TOO_MANY_FILES: entry(12, 'Raise the limit on open files (`ulimit -n`) or run fewer at once.', true),
  POSTGRES_UNAVAILABLE: entry(
    12,
    'Check the host, the port and that the server is up, then try again.',
    true,
  ),
  CANCELLED: entry(143, 'Start it again when you are ready.'),
  CHILD_FAILED: entry(1, 'The command printed the reason above, if it gave one.'),
  COMMAND_NOT_EXECUTABLE: entry(126, 'Make the file executable (`chmod +x`) or name an interpreter.'),
  COMMAND_NOT_FOUND: entry(127, 'Check the spelling, and that the program is on PATH.'),
  UNEXPECTED: entry(1, 'Set STINT_DEBUG=1 to see where it came from; if it is a fault of stint, report it.'),
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorTable

/** A code that a program of yours has chosen: capitals, digits and `_`. Editors still offer stint's own. */
export type OwnErrorCode = string & Record<never, never>

/** Whether this is one of the table's codes. */
export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code)

const isOwnCode = (code: unknown): boolean => typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code)

/** A code of the program has no advice of ours: its errors bring their own. */
const ownEntry = entry(1, '')

/** The entry of a code. Plain JavaScript callers may pass anything: an invalid code is `UNEXPECTED`. */
export function errorEntry(code: ErrorCode | OwnErrorCode): { code: string; entry: ErrorEntry } {
  if (isErrorCode(code)) return { code, entry: errorTable[code] }
  return isOwnCode(code) ? { code, entry: ownEntry } : { code: 'UNEXPECTED', entry: errorTable.UNEXPECTED }
}
