import { StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { homeRegister, listNotes, type Note, noteKeptMs, WorkspaceClaims } from '../../lease/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatAge } from '../text/format.ts'

export const noteListCommand = defineBareCommand({
  name: 'list',
  summary: 'The notes about this workspace that were not shown yet, oldest first.',
  options: {
    all: { type: 'boolean', help: 'also those that were shown, and those about other workspaces' },
    workspace: { type: 'string', value: 'DIR', help: 'any directory in the workspace (the current one)' },
    resource: { type: 'string', value: 'NAME', help: 'the notes about this resource instead' },
  },
  examples: [
    ['stint note list', 'what waits here'],
    ['stint note list --all --json', 'everything of the last 30 days'],
  ],
  async run(_, { options }) {
    const { all, workspace, resource } = options
    if ([all || undefined, workspace, resource].filter((each) => each !== undefined).length > 1)
      throw new StintError('ARG_ERROR', '--all, --workspace and --resource exclude each other')
    const { key } = WorkspaceClaims.open(homeRegister(), { workspace, resource })
    const notes = listNotes(stintHome()).filter(
      (note) => all || (note.key === key && note.shownAt === undefined),
    )
    return { notes: notes.map(describeNote) }
  },
  render: ({ notes }) => (notes.length === 0 ? 'no notes' : notes.map(renderNote).join('\n')),
})

/** A note as JSON answers show it. */
export const describeNote = ({ id, at, text, from, to, name, shownAt }: Note) => ({
  note_id: id,
  at,
  text,
  from,
  to: to ?? null,
  workspace: name,
  shown_at: shownAt === undefined ? null : Math.round(shownAt),
  expires_at: (shownAt === undefined ? at : Math.round(shownAt)) + noteKeptMs,
})

function renderNote({ at, from, to, text, workspace, shown_at }: ReturnType<typeof describeNote>): string {
  const reader = to === null ? `the next session in ${workspace}` : `session ${to}`
  const shown = shown_at === null ? '' : `, shown ${formatAge(Date.now() - shown_at)} ago`
  const who = visibleText(`${from} to ${reader}, ${formatAge(Date.now() - at)} ago${shown}:`)
  return `${who}\n  ${visibleText(text)}`
}
