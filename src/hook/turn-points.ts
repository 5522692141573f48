import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { homePath } from '../base/fs/home.ts'
import { type Claim, transcriptTime } from '../lease/index.ts'
import type { PointRequest, TurnOfSession } from '../points/index.ts'
import type { Turn, TurnPoints } from './begin-call.ts'
import { longPatienceMs } from './host.ts'

type HookPoints = Pick<
  typeof import('../points/index.ts'),
  'pointAtGrant' | 'pointAtTurnEnd' | 'sweepAtSessionEnd' | 'takeUndoneNotices'
>

/** The code for points is a file of its own, loaded when it is needed. */
const loadPoints = (): HookPoints => require('./hook-points.cjs') as HookPoints

/** Takes restore points in the repositories of a session's turns. */
export function turnPoints(env: NodeJS.ProcessEnv): TurnPoints {
  const sweepProgram = (): string => join(__dirname, 'points-sweep.cjs')
  const turnOf = (turn: Turn): TurnOfSession => ({ ...requestOf(turn), sweepProgram: sweepProgram() })
  return {
    async begin(turn) {
      const { changedByOthers } = await loadPoints().pointAtGrant(turnOf(turn))
      return changedByOthers
    },
    async end(turn) {
      await loadPoints().pointAtTurnEnd(turnOf(turn))
    },
    undone: (sessionId) =>
      existsSync(join(homePath(env), 'points/undone', encodeURIComponent(sessionId)))
        ? loadPoints()
            .takeUndoneNotices(sessionId, env)
            .flatMap(({ files }) => files)
        : [],
    sweep: ({ root }) => loadPoints().sweepAtSessionEnd({ root, sweepProgram: sweepProgram() }),
  }
}

function requestOf({ root, claim, tookOver = [] }: Turn): Omit<PointRequest, 'kind'> {
  const { session_id: sessionId, fence, paths, origin } = claim
  return {
    root,
    sessionId,
    fence,
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
