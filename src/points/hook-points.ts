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

// What the hooks of agents call, in a bundle of its own that a hook loads only when a point is due. Nothing
// here throws, and nothing keeps a call for longer than 10 s.

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

/** Files that others have changed since a session last worked here: at most five, and how many more. */
export interface ChangedFiles {
  files: string[]
  more: number
}

/**
 * Takes the point of a grant or a takeover. Call it when the claim is swapped in, before the call is allowed,
 * at the first call of each turn: a claim that `--hold session` keeps between turns begins a turn, too.
 */
export async function pointAtGrant(turn: TurnOfSession): Promise<ChangedFiles> {
  const { outcome } = await takeTurnPoint(turn, 'grant')
  const files = outcome === 'taken' ? await filesChangedByOthers(turn).catch(() => []) : []
  return { files: files.slice(0, 5), more: Math.max(0, files.length - 5) }
}

/** Takes the point at the end of a turn. Call it before the claim is released. */
export const pointAtTurnEnd = (turn: TurnOfSession): Promise<PointOutcome> => takeTurnPoint(turn, 'end')

async function takeTurnPoint(
  { sweepProgram, ...turn }: TurnOfSession,
  kind: 'grant' | 'end',
): Promise<PointOutcome> {
  const point = await takePoint({ ...turn, kind })
  // The sweep has more time than a call: it takes the point that this one could not.
  if (point.outcome === 'off' && point.isNews) startSweep(sweepProgram)
  return point
}

/** Starts a sweep in the background when a session ends, at most once a day. Does not wait for it. */
export function sweepAtSessionEnd({ root, sweepProgram }: TurnOfSession): void {
  if (ifPossible(() => isSweepDue(root))) startSweep(sweepProgram)
}

/** The files that differ between the end of the last turn of a session and the newest point. */
async function filesChangedByOthers({ root, sessionId }: TurnOfSession): Promise<string[]> {
  const store = findStore(root)
  const points = store === undefined ? [] : readPoints(store)
  const lastTurn = changeSets(points).findLast(
    ({ kind, session_id }) => kind === 'turn' && session_id === sessionId,
  )
  const newest = points.at(-1)
  if (store === undefined || lastTurn === undefined || newest === undefined) return []
  const [changes = []] = await diffTrees(store, [[lastTurn.to.tree, newest.tree]])
  const latePaths = lastTurn.end === 'unseen' ? (lastTurn.to.outside?.[sessionId] ?? []) : []
  return [...new Set([...latePaths, ...changes.map(({ path }) => path)])].map(utf8Of)
}

/** What the sweep needs of the environment. Without the variables of a session it is no work of one. */
const passedOn = /^(?:HOME|PATH|LANG|TMPDIR|STINT_HOME|XDG_CONFIG_HOME)$/

/** Starts `points-sweep.cjs` in the background. Never waits and never throws: an agent must not notice. */
function startSweep(program: string): void {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name)))
  ifPossible(() => {
    const child = spawn(process.execPath, [program], { detached: true, stdio: 'ignore', cwd: '/', env })
    child.on('error', () => {})
    child.unref()
  })
}

/** The program `points-sweep.cjs`. `stint doctor` shows what the sweep has found. */
export async function sweepInBackground(): Promise<void> {
  ifPossible(() => setPriority(10))
  await sweepPoints().catch(() => {})
}
