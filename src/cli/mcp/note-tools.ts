import { z } from 'zod'
import { StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import { isSessionId } from '../../base/text/id.ts'
import { addNote, listNotes, maxNoteLength, noteText, takeNotes } from '../../lease/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { describeNote } from '../note/list.ts'
import { findParty } from './agent-session.ts'
import { defineTool, openTarget, sessionInput, targetInput } from './tool.ts'

const noteOutput = z.looseObject({
  note_id: z.string(),
  at: z.number(),
  from: z.string(),
  to: z.string().nullable(),
  workspace: z.string(),
  text: z.string(),
})

const leaveNote = defineTool({
  name: 'leave_note',
  title: 'Leave a note',
  description:
    'Leaves a short note for the next session that gets this workspace, or for one session. It is on disk ' +
    'when this returns, and is shown once, with the next claim. Say what is half done and what to leave alone.',
  input: z.object({
    ...targetInput,
    ...sessionInput,
    text: z.string().trim().min(1).max(maxNoteLength),
    to_session: z.string().optional().describe('The id of a session, as who shows it.'),
  }),
  output: noteOutput,
  isReading: false,
  async call({ text, to_session: to, session, ...target }, context) {
    if (to !== undefined && !isSessionId(to))
      throw new StintError('SESSION_ID_INVALID', `${JSON.stringify(to.slice(0, 140))} cannot be a session id`)
    const claims = openTarget(context, target)
    const { parent, sessionId } = await findParty(context.register, session)
    const note = addNote(stintHome(), {
      at: Date.now(),
      text: registerEnvironmentSecrets().gate.text(text),
      from: parent ?? sessionId,
      key: claims.key,
      name: claims.name,
      ...(to !== undefined && { to }),
    })
    claims.activity.noteNote(note.from, to, note.at)
    await claims.activity.written()
    return { data: describeNote(note), text: `left for ${to ?? 'the next session that gets it'}` }
  },
})

const readNotes = defineTool({
  name: 'read_notes',
  title: 'Read notes',
  description:
    'Shows the notes about this workspace, and those to you, oldest first. Those for you count as shown then.',
  input: z.object({ ...targetInput, ...sessionInput }),
  output: z.object({ notes: z.array(noteOutput) }),
  isReading: false,
  async call({ session, ...target }, context) {
    const claims = openTarget(context, target)
    const { parent, sessionId } = await findParty(context.register, session)
    const reader = parent ?? sessionId
    const now = Date.now()
    const notes = listNotes(stintHome()).filter(({ key, to }) => to === reader || key === claims.key)
    takeNotes(stintHome(), claims.key, reader, now)
    const text = notes.map((note) => noteText(note, now)).join('\n') || 'no notes'
    return { data: { notes: notes.map(describeNote) }, text }
  },
})

export const noteTools = [leaveNote, readNotes]
