import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { homePath } from '../base/fs/home.ts'
import { type Claim, transcriptTime } from '../lease/index.ts'
import type { TurnOfSession } from '../points/index.ts'
import type { Turn, TurnPoints } from './begin-call.ts'
import { longPatienceMs } from './hosts/host.ts'

type HookPoints = Pick<
  typeof import('../points/index.ts'),
  'pointAtGrant' | 'pointAtTurnEnd' | 'sweepAtSessionEnd' | 'takeUndoneNotices'
>

/** The code for points is a file of its own, loaded when it is needed. */
const loadPoints = (): HookPoints => require('./hook-points.cjs') as HookPoints

/** Takes restore points in the repositories of a session's turns. */
export const turnPoints = (env: NodeJS.ProcessEnv): TurnPoints => ({
  async begin(turn) {
    return await loadPoints().pointAtGrant(turnOf(turn))
  },
  async end(turn) {
    await loadPoints().pointAtTurnEnd(turnOf(turn))
  },
  undone(sessionId) {
    const notices = join(homePath(env), 'points/undone', encodeURIComponent(sessionId))
    if (!existsSync(notices)) return []
    return loadPoints().takeUndoneNotices(sessionId, env)
  },
  sweep: (turn) => loadPoints().sweepAtSessionEnd(turnOf(turn)),
})

function turnOf({ root, claim, tookOver = [] }: Turn): TurnOfSession {
  const { session_id: sessionId, paths, origin } = claim
  return {
    root,
    sweepProgram: join(__dirname, 'points-sweep.cjs'),
    sessionId,
    agent: origin?.agent,
    words: origin?.prompt,
    ...(!paths.includes('**') && { paths }),
    ...(tookOver.length > 0 && {
      lastActs: Object.fromEntries(tookOver.map((lost) => [lost.session_id, lastActOf(lost)])),
    }),
  }
}

/** When a session whose turn has no end last did something; without a transcript, at its last renewal. */
const lastActOf = ({ origin, acquired_at, until_wall }: Claim): number =>
  transcriptTime(origin) ?? Math.max(acquired_at, until_wall - longPatienceMs)
