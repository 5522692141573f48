import { userInfo } from 'node:os'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import { visibleText } from '../../base/text/escape.ts'
import { isSessionId } from '../../base/text/id.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import {
  addNote,
  findAncestors,
  homeRegister,
  maxNoteLength,
  readDescent,
  WorkspaceClaims,
} from '../../lease/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { describeNote } from './list.ts'
import { formatTime } from '../text/format.ts'

export const noteAddCommand = defineBareCommand({
  name: 'add',
  summary:
    'Leaves a note for the next session that gets this workspace, or for one session. It is on disk when the command returns, and kept until it was shown, at most 30 days.',
  options: {
    to: { type: 'string', value: 'ID', help: 'only for this session, whichever workspace it gets next' },
    workspace: { type: 'string', value: 'DIR', help: 'any directory in the workspace (the current one)' },
    resource: { type: 'string', value: 'NAME', help: 'the next holder of this resource instead' },
  },
  positionals: 'TEXT',
  examples: [
    ['stint note add "the migration is half done, see PLAN.md"', 'for the next session here'],
    ['stint note add --to 0f5e2c "do not touch src/api, I am at it"', 'for one session; a prefix is enough'],
  ],
  async run({ warn }, { options, positionals }) {
    const text = noteTextOf(positionals)
    const { workspace, resource } = options
    if (workspace !== undefined && resource !== undefined)
      throw new StintError('ARG_ERROR', '--workspace and --resource exclude each other')
    const claims = WorkspaceClaims.open(homeRegister(), { workspace, resource })
    const to = options.to === undefined ? undefined : await findReader(claims, options.to, warn)
    const { record } = await claims.read()
    const descent = readDescent(process.pid)
    const author = findAncestors(record.claims, { descent: () => descent })?.[0] ?? descent.sessions[0]
    return await leaveNote(claims, { text, to, from: author })
  },
  render: ({ to, workspace, expires_at }, { columns }) =>
    wrapLines(
      `${to === null ? `the next session in ${visibleText(workspace)}` : to} will be shown it, until ${formatTime(expires_at, { utc: false }).slice(0, 10)}`,
      columns,
    ),
})

/** Leaves a note, from a session or else this user, and mentions it in the history of the workspace. */
export async function leaveNote(
  claims: WorkspaceClaims,
  { text, to, from }: { text: string; to?: string; from?: string },
) {
  const note = addNote(stintHome(), {
    at: Date.now(),
    text: registerEnvironmentSecrets().gate.text(text),
    from: from ?? ifPossible(() => userInfo().username) ?? 'a user',
    key: claims.key,
    name: claims.name,
    ...(to !== undefined && { to }),
  })
  claims.activity.noteNote(note.from, to, note.at)
  await claims.activity.written()
  return describeNote(note)
}

/** The text of a note, as it was given. */
export function noteTextOf([text, extra]: readonly string[]): string {
  const problem =
    text === undefined || text.trim() === ''
      ? 'a note needs a text'
      : extra !== undefined
        ? 'give the note as one argument'
        : text.length > maxNoteLength
          ? `a note has at most ${maxNoteLength} characters, not ${text.length}`
          : undefined
  if (problem === undefined) return (text ?? '').trim()
  throw new StintError('ARG_ERROR', problem, { hint: 'stint note add "the migration is half done"' })
}

/** The session that a note is for: one that was here, by a prefix of its id, or any id in full. */
async function findReader(
  claims: WorkspaceClaims,
  given: string,
  warn: (message: string) => void,
): Promise<string> {
  if (!isSessionId(given))
    throw new StintError(
      'SESSION_ID_INVALID',
      `${JSON.stringify(given.slice(0, 140))} cannot be a session id`,
    )
  const { record } = await claims.read()
  const seen = [...record.claims, ...(await claims.activity.read())].map(({ session_id }) => session_id)
  const candidates = [...new Set(seen)].filter((id) => id.startsWith(given))
  const [only, other] = candidates
  if (candidates.includes(given)) return given
  if (only !== undefined && other === undefined) return only
  if (other !== undefined)
    throw new StintError(
      'ARG_ERROR',
      `${given} matches ${candidates.length} sessions: ${candidates.slice(0, 10).join(', ')}`,
      {
        hint: 'Give more of the id.',
        facts: { candidates },
      },
    )
  warn(`no session ${given} was in ${claims.name} so far: the note waits for one with exactly this id`)
  return given
}
