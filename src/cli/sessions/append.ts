import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { checkSessionId } from '../../session/session-errors.ts'
import { checkEventType } from '../../session/new-entry.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { storeOption } from '../store.ts'
import { openSessions } from './open-sessions.ts'
import { findId, idArgument } from './which-session.ts'
import { readData } from './read-data.ts'

const options = {
  type: { type: 'string', value: 'T', help: 'a short word; those that begin with stint. are reserved' },
  data: { type: 'string', value: 'JSON', help: 'the data; @- reads it from stdin, @FILE from a file (null)' },
  create: { type: 'boolean', help: 'make the session if there is none with this id' },
  tool: { type: 'string', value: 'NAME', help: 'with --create: the program it belongs to' },
  title: { type: 'string', value: 'TEXT', help: 'with --create: what it is about' },
  ...storeOption,
} as const satisfies OptionTable

export const appendCommand = defineBareCommand({
  name: 'append',
  summary:
    'Adds an event to a session, even while another process writes to it. It is on disk when the command ends.',
  options,
  positionals: 'ID',
  examples: [
    [`stint sessions append mine --type note --data '{"text":"deployed"}'`, 'from a script'],
    ['git diff --stat | jq -Rs . | stint sessions append mine --type diff --data @-', 'from a pipe'],
    ['stint sessions append nightly --create --type started', 'the first call makes the session'],
  ],
  async run({ warn }, { options, positionals }) {
    const { type, create, tool, title } = options
    const given = idArgument(positionals)
    if (type === undefined)
      throw new StintError('ARG_ERROR', 'no type of event given', {
        hint: 'Give it with --type, as --type note.',
      })
    if (!create && (tool ?? title) !== undefined)
      throw new StintError('ARG_ERROR', `--${tool === undefined ? 'title' : 'tool'} goes with --create`)
    // Before anything is made.
    checkEventType(type)
    if (create) checkSessionId(given)
    const sessions = await openSessions(options.store, warn)
    // A new session has exactly the id it was given, also if others begin with it.
    const id = create ? given : await findId(sessions, given)
    const data = await readData(options.data)
    return await sessions.store.visit(
      id,
      async (visit) => {
        await visit.append({ type, data })
        return { session_id: id, type, taken_in: visit.direct }
      },
      {
        purpose: 'append',
        secrets: registerEnvironmentSecrets().secrets,
        create: create ? { tool, title, workspace: findWorkspace().path } : undefined,
      },
    )
  },
  render: ({ session_id, taken_in }) =>
    taken_in ? `appended to ${session_id}` : `left for the writer of ${session_id}, which takes it in`,
})
