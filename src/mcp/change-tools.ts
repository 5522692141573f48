import { resolve } from 'node:path'
import { z } from 'zod'
import { utf8Of } from '../base/fs/paths.ts'
import { visibleAnswer } from '../base/text/escape.ts'
import { nothingChanged, setTable } from '../points/commands/changes.ts'
import { listSets } from '../points/commands/describe-sets.ts'
import { readPatch } from '../points/commands/diff.ts'
import { openChangeSets, pathsInRoot } from '../points/commands/which-sets.ts'
import { defineTool, nameInput, targetInput } from './tool.ts'

const { workspace } = targetInput
const session = nameInput.optional().describe('Only this session: its id, the beginning of it, or its agent.')
const maxPatchLength = 30_000

const changes = defineTool({
  name: 'changes',
  title: 'Who changed what',
  description:
    'Lists the turns of all sessions in this workspace, the newest last: which files each has changed, and ' +
    'how many lines. "outside" is what happened between the turns.',
  input: {
    workspace,
    session,
    limit: z.number().int().min(1).max(200).optional().describe('How many of the newest. Default: 20.'),
  },
  isReading: true,
  async call({ workspace, session, limit = 20 }) {
    const opened = await openChangeSets(workspace)
    const { sets, more } = await listSets(opened, { session, limit })
    const { root } = opened.store
    const lines = setTable(sets, Number.POSITIVE_INFINITY, { utc: true })
    const text = sets.length === 0 ? nothingChanged(root) : lines.join('\n')
    return { data: { workspace: root, sets, more }, text }
  },
})

const diff = defineTool({
  name: 'diff',
  title: 'What a session changed',
  description:
    "Shows the diff of one turn or of a whole session, in git's format. Use it to see what another session " +
    'has done to files that you know. Only your user can undo it, with `stint undo`.',
  input: {
    workspace,
    of: nameInput
      .optional()
      .describe('A change set of the tool `changes`, a session, or an agent. Default: the newest turn.'),
    paths: z.array(nameInput).max(1000).optional().describe('Only these files and directories.'),
  },
  isReading: true,
  async call({ workspace, of, paths = [] }) {
    const opened = await openChangeSets(workspace)
    const chosenPaths = pathsInRoot(opened.store.root, paths, workspace && resolve(workspace))
    const format = { isStat: false, hasColour: false, utc: true }
    const { sets, patch } = await readPatch(opened, of, chosenPaths, format)
    const whole = visibleAnswer(utf8Of(patch.toString('latin1')))
    const rest = whole.length - maxPatchLength
    const text = rest > 0 ? `${whole.slice(0, maxPatchLength)}\n(${rest} more characters: name paths)` : whole
    return { data: { sets, patch: text }, text: text || 'no difference' }
  },
})

export const changeTools = [changes, diff]
