import { resolve } from 'node:path'
import { z } from 'zod'
import { utf8Of } from '../base/fs/paths.ts'
import { visibleAnswer, visibleText } from '../base/text/escape.ts'
import { allClaims, workspacePath } from '../lease/index.ts'
import { promptedSessions } from '../hooks/index.ts'
import type { FoundEvent } from '../session/index.ts'
import { describeStatus } from '../lease/commands/describe.ts'
import { activityLine } from '../lease/commands/history.ts'
import { renderTarget } from '../lease/commands/status.ts'
import { describeFound, renderFound } from '../session/commands/search.ts'
import { listSets, nothingChanged, setTable } from '../points/commands/changes.ts'
import { readPatch } from '../points/commands/diff.ts'
import { openChangeSets, pathsInRoot } from '../points/commands/which-sets.ts'
import { defineTool, nameInput, openTarget, targetInput, targetOf } from './tool.ts'

const limitOf = (most: number) =>
  z.number().int().min(1).max(most).optional().describe('How many of the newest. Default: 20.')

const anyWidth = { columns: Number.POSITIVE_INFINITY, verbose: false }

const who = defineTool({
  name: 'who',
  title: 'Who works where',
  description:
    'Shows which sessions hold the workspace, or paths in it, what they do and which sessions wait. ' +
    'Also lists the agents that run on this machine. Look here before you plan a large change.',
  input: { ...targetInput, all: z.boolean().optional().describe('All workspaces, not only one.') },
  isReading: true,
  async call({ all = false, ...target }, context) {
    const { key, title } = openTarget(context, target)
    const { targets } = await allClaims(context.leases)
    const shown = targets
      .filter((each) => all || each.key === key)
      .map((each) => ({ ...targetOf(each), ...describeStatus(each) }))
    const sessions = promptedSessions(process.env).map(({ sessionId, agent, words }) => ({
      session_id: sessionId,
      pid: agent.pid,
      prompt: words,
    }))
    const lines = [
      ...shown.flatMap((each) => renderTarget(each, anyWidth)),
      ...(shown.length === 0 ? [`${visibleText(title)} is free`] : []),
      ...sessions.map(({ session_id, pid, prompt }) =>
        visibleText(`session ${session_id} (pid ${pid}) works on ${JSON.stringify(prompt)}`),
      ),
    ]
    const workspaces = shown.map((each) => ({ ...each, claims: each.claims.map(withoutFence) }))
    return { data: { workspaces, sessions }, text: lines.join('\n') }
  },
})

/** A fence says nothing to a model. */
const withoutFence = <Shown extends object>({ fence: _fence, ...shown }: Shown & { fence?: number | null }) =>
  shown

const history = defineTool({
  name: 'history',
  title: 'What happened here',
  description:
    'Shows which sessions held the workspace, when and for what, and which were refused; the newest last.',
  input: { ...targetInput, limit: limitOf(500) },
  isReading: true,
  async call({ limit = 20, ...target }, context) {
    const claims = openTarget(context, target)
    const all = await claims.activity.read()
    const newest = all.slice(-limit)
    const text = newest.map(activityLine).join('\n') || `${visibleText(claims.title)} has no history`
    const activities = newest.map(withoutFence)
    return { data: { ...targetOf(claims), activities, total: all.length }, text }
  },
})

const searchSessions = defineTool({
  name: 'search_sessions',
  title: 'Search sessions',
  description:
    'Finds a text in the events that sessions have recorded: the newest session first, and its newest event ' +
    'first. Use it to find out how a problem was met before.',
  input: {
    text: z.string().min(1).describe('The text, as it was written; not a pattern.'),
    workspace: nameInput.optional().describe('Only sessions of this workspace: any directory in it.'),
    limit: limitOf(100),
  },
  isReading: true,
  async call({ text, workspace, limit = 20 }, { store, signal }) {
    const events: FoundEvent[] = []
    const search = store.search(text, {
      workspace: workspace === undefined ? undefined : workspacePath(workspace),
      // A damaged session does not hide the others.
      onUnreadable: () => {},
    })
    for await (const event of search) {
      signal.throwIfAborted()
      events.push(event)
      if (events.length >= limit) break
    }
    const lines = events.map((event) => renderFound(event, { utc: true })).join('\n') || 'nothing found'
    return { data: { found: events.map(describeFound) }, text: lines }
  },
})

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
    limit: limitOf(200),
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

export const readingTools = [who, history, searchSessions, changes, diff]
