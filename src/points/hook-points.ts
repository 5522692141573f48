import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { ifPossible } from '../base/errors/if-possible.ts'
import { utf8Of } from '../base/fs/paths.ts'
import { changeSets } from './change-sets.ts'
import { readPoints } from './point.ts'
import { findStore } from './store.ts'
import { isSweepDue, sweepPoints } from './sweep-points.ts'
import { type PointOutcome, type PointRequest, takePoint } from './take-point.ts'
import { diffTrees } from './tree-diff.ts'

// What the hooks of agents call. Nothing here throws, and nothing keeps a call for longer than 10 s.
//
// A hook loads this code only when a point is due:
//   const { pointAtGrant } = require('./hook-points.cjs') as typeof import('../points/index.ts')
// At each prompt a hook calls `takeUndoneNotices`, if `points/undone/SESSION` exists in the home.
//
// All writers of a store take one register key. After a time-out, `pointAtGrant` returns at once until the
// sweep, which it has started in the background, has managed a point.

export { takeUndoneNotices } from './undone-notices.ts'

/**
 * A session when its turn begins or ends. Only a party with an exclusive claim of its own has points:
 * call none of this for a shared claim, nor for a party that works within the claim of another (a subagent
 * that is kept apart, `stint run --lock` in a call of an agent), because its work counts for that other one.
 */
export interface TurnOfSession extends Omit<PointRequest, 'kind' | 'budgetMs'> {
  /** The path of `points-sweep.cjs`, which lies beside the hook. */
  sweepProgram: string
}

/** What the point of a grant has shown. */
export interface GrantReport {
  /** If `outcome` is `off` and `isNews`, tell `reason` to the user: it is said once in a worktree. */
  point: PointOutcome
  /** For the hand-over line: files that others have changed since this session last worked here. */
  changedByOthers: ChangedFiles
}

export interface ChangedFiles {
  /** At most five. */
  files: string[]
  /** How many more there are. */
  more: number
}

/**
 * Takes the point of a grant or a takeover. Call it when the claim is swapped in, before the call is allowed,
 * at the first call of each turn: a claim that `--hold session` keeps between turns begins a turn, too.
 */
export async function pointAtGrant({ sweepProgram, ...turn }: TurnOfSession): Promise<GrantReport> {
  const point = await takePoint({ ...turn, kind: 'grant' })
  // The sweep has more time than a call: it takes the point that this one could not.
  if (point.outcome === 'off' && point.isNews) startSweep(sweepProgram)
  const files = point.outcome === 'taken' ? await filesChangedByOthers(turn) : []
  return { point, changedByOthers: { files: files.slice(0, 5), more: Math.max(0, files.length - 5) } }
}

/** Takes the point at the end of a turn. Call it before the claim is released. */
export async function pointAtTurnEnd({ sweepProgram, ...turn }: TurnOfSession): Promise<PointOutcome> {
  const point = await takePoint({ ...turn, kind: 'end' })
  if (point.outcome === 'off' && point.isNews) startSweep(sweepProgram)
  return point
}

/** Starts a sweep in the background when a session ends, at most once a day. Does not wait for it. */
export function sweepAtSessionEnd({
  root,
  sweepProgram,
}: Pick<TurnOfSession, 'root' | 'sweepProgram'>): void {
  try {
    if (isSweepDue(root)) startSweep(sweepProgram)
  } catch {
    // The next session that ends tries again.
  }
}

/** The files that differ between the end of the last turn of a session and the newest point. */
async function filesChangedByOthers({
  root,
  sessionId,
}: Pick<TurnOfSession, 'root' | 'sessionId'>): Promise<string[]> {
  try {
    const store = findStore(root)
    if (store === undefined) return []
    const points = readPoints(store)
    const lastTurn = changeSets(points).findLast(
      ({ kind, session_id }) => kind === 'turn' && session_id === sessionId,
    )
    const newest = points.at(-1)
    if (lastTurn === undefined || newest === undefined) return []
    const [changes = []] = await diffTrees(store, [[lastTurn.to.tree, newest.tree]])
    const late = lastTurn.end === 'unseen' ? (lastTurn.to.outside?.[sessionId] ?? []) : []
    return [...new Set([...late, ...changes.map(({ path }) => path)])].map(utf8Of)
  } catch {
    return []
  }
}

/** What the sweep needs of the environment. Without the variables of a session it is no work of one. */
const passedOn = /^(?:HOME|PATH|LANG|TMPDIR|STINT_HOME|XDG_CONFIG_HOME)$/

/** Starts `points-sweep.cjs` in the background. Never waits and never throws: an agent must not notice. */
function startSweep(program: string): void {
  try {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name)))
    const child = spawn(process.execPath, [program], { detached: true, stdio: 'ignore', cwd: '/', env })
    child.on('error', () => {})
    child.unref()
  } catch {
    // The next `stint sweep` does it.
  }
}

/** The program `points-sweep.cjs`. `stint doctor` shows what the sweep has found. */
export async function sweepInBackground(): Promise<void> {
  ifPossible(() => setPriority(10))
  await sweepPoints().catch(() => {})
}
