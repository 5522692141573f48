import type { WorktreeState } from './capture-worktree.ts'
import type { Point } from './point.ts'

/** Files that changed between two points, and the session that changed them. */
export interface ChangeSet {
  id: string
  /** A turn of a session, an undo, an undo of an undo, or what happened between claims. */
  kind: 'turn' | 'undo' | 'redo' | 'outside'
  /** The session that the changes count for; undefined for changes between claims. */
  session_id?: string
  agent?: string
  words?: string
  from: Point
  to: WorktreeState
  /** Whether the end of the turn has a point, or the next point stands for it, or it goes on. */
  end: 'seen' | 'unseen' | 'open'
  /** False if changes of others may be among these: a point is missing, or the time of the last act. */
  isComplete: boolean
  hasMovedHead: boolean
  /** The paths that count: of these files and directories, without those. In Latin-1. */
  within?: readonly string[]
  without: readonly string[]
  /** The change sets that an undo or a redo has taken back. */
  undoes: readonly string[]
  undone: 'no' | 'partly' | 'yes'
}

/** Does a path count for this change set? */
export function isInSet({ within, without }: ChangeSet, path: string): boolean {
  if (without.some((each) => isAtOrBelow(path, each))) return false
  return within === undefined || within.some((each) => isAtOrBelow(path, each))
}

const isAtOrBelow = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(outer.endsWith('/') ? outer : `${outer}/`)

/** Is a path one of these files, or below one of these directories? All paths if there are none. */
export const isChosenPath = (path: string, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.some((outer) => isAtOrBelow(path, outer))

/**
 * Turns the points of a worktree, oldest first, into change sets, oldest first. With `present`, a turn that
 * has not ended goes up to now, and so does what happened since the last claim.
 */
export function changeSets(points: readonly Point[], present?: WorktreeState): ChangeSet[] {
  const sets: ChangeSet[] = []
  let open: Point[] = []
  const now: Point[] = present === undefined ? [] : [{ ...present, ...nowFields }]
  let before: Point | undefined
  for (const point of [...points, ...now]) {
    if (before !== undefined) sets.push(...outsideSet(before, point, open))
    const ended = open.filter((grant) => isEndedBy(grant, point))
    sets.push(...ended.map((grant) => turnSet(grant, point, endOf(grant, point))))
    if (point.kind === 'end' && ended.length === 0 && before !== undefined)
      sets.push({ ...turnSet(before, point, 'seen', point), isComplete: false })
    if (point.kind === 'undo-done') sets.push(...undoSet(points, point))
    open = open.filter((grant) => !ended.includes(grant))
    if (point.kind === 'grant') open.push(point)
    before = point
  }
  return markUndone(sets)
}

/** The present is like the first point of an undo, which every open turn goes up to. */
const nowFields = { id: 'now', kind: 'undo-begun', session_id: '' } as const

function endOf(grant: Point, point: Point): ChangeSet['end'] {
  if (point.id === nowFields.id) return 'open'
  return isOwnEnd(grant, point) ? 'seen' : 'unseen'
}

const isOwnEnd = (grant: Point, point: Point): boolean =>
  point.kind === 'end' && point.session_id === grant.session_id

/** A turn ends with its own end, with the next grant that conflicts with its claim, or with an undo. */
function isEndedBy(grant: Point, point: Point): boolean {
  if (point.kind === 'end') return isOwnEnd(grant, point)
  if (point.kind === 'undo-begun') return true
  return point.kind === 'grant' && (point.session_id === grant.session_id || overlaps(grant, point))
}

const overlaps = ({ paths: ones }: Point, { paths: others }: Point): boolean =>
  ones === undefined ||
  others === undefined ||
  ones.some((one) => others.some((other) => isAtOrBelow(one, other) || isAtOrBelow(other, one)))

const leftOutIn = (...states: readonly WorktreeState[]): string[] =>
  states.flatMap(({ left_out }) => left_out.map(({ path }) => path))

/** The set of a turn. `named` is the point that has its session, if that is not its first one. */
function turnSet(from: Point, to: WorktreeState, end: ChangeSet['end'], named: Point = from): ChangeSet {
  const { id, session_id, agent, words, paths } = named
  return {
    id,
    kind: 'turn',
    session_id,
    agent,
    words,
    from,
    to,
    end,
    isComplete: end !== 'unseen' || to.outside?.[named.session_id] !== undefined,
    hasMovedHead: from.head !== to.head,
    within: paths,
    without: [...leftOutIn(from, to), ...(end === 'seen' ? [] : (to.outside?.[named.session_id] ?? []))],
    undoes: [],
    undone: 'no',
  }
}

/**
 * What happened between two points and counts for no session: the paths that no open claim covers, and those
 * that changed after the last known act of a session whose end was not seen.
 */
function outsideSet(from: Point, to: Point, open: readonly Point[]): ChangeSet[] {
  const isOfUndo = to.kind === 'undo-done' && to.begun === from.id
  const isOfLostGrant = to.kind === 'end' && !open.some((grant) => isOwnEnd(grant, to))
  if (from.tree === to.tree || isOfUndo || isOfLostGrant) return []
  const hasWhole = open.some(({ paths }) => paths === undefined)
  const latePaths = open.flatMap(({ session_id }) => to.outside?.[session_id] ?? [])
  if (hasWhole && latePaths.length === 0) return []
  const outside: ChangeSet = {
    ...turnSet(from, to, 'seen'),
    // No other id begins with an o.
    id: `o${to.id}`,
    kind: 'outside',
    session_id: undefined,
    agent: undefined,
    words: undefined,
    within: hasWhole ? latePaths : undefined,
    without: [...leftOutIn(from, to), ...open.flatMap(({ paths = [] }) => paths)],
  }
  return [outside]
}

/** The set of an undo: only the paths that it wrote, as other points may lie between its two. */
function undoSet(points: readonly Point[], done: Point): ChangeSet[] {
  const begun = points.find(({ id }) => id === done.begun)
  if (begun === undefined) return []
  const { undoes = [] } = begun
  const kind = isRedo(begun) ? 'redo' : 'undo'
  return [{ ...turnSet(begun, done, 'seen'), kind, within: done.written ?? [], undoes }]
}

/** The agent of the points of a redo: the sweep may have removed the undo that it takes back. */
export const redoAgent = 'stint redo'

export const isRedo = ({ agent }: Pick<Point, 'agent'>): boolean => agent === redoAgent

/** Does taking these change sets back redo something? */
export const isRedoOf = (undone: readonly ChangeSet[]): boolean => undone.some(({ kind }) => kind === 'undo')

/** Says of each set whether it is undone. Taking back an undo gives its sets back, and so on. */
function markUndone(sets: readonly ChangeSet[]): ChangeSet[] {
  const states = new Map<string, ChangeSet['undone']>()
  const mark = (ids: readonly string[], state: ChangeSet['undone']): void => {
    for (const id of ids) {
      states.set(id, state)
      mark(sets.find((set) => set.id === id)?.undoes ?? [], opposites[state])
    }
  }
  for (const { undoes, from } of sets) mark(undoes, from.is_partial === true ? 'partly' : 'yes')
  return sets.map((set) => ({ ...set, undone: states.get(set.id) ?? 'no' }))
}

const opposites = { yes: 'no', no: 'yes', partly: 'partly' } as const
