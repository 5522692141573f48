import { expect, test } from 'vitest'
import { byNeed, type TileEvidence, tileStateOf } from './now-view.ts'

const now = 1_000_000
const held = { state: 'held', since: 900 } as const
const leftover = { state: 'leftover', since: 700 } as const

test.each<[string, Partial<TileEvidence>, string, number]>([
  ['a session with nothing', {}, 'idle', 500],
  ['a session that holds a claim', { holds: [held], liveness: 'alive' }, 'working', 900],
  ['a session that waits', { waitsSince: 600 }, 'waiting', 600],
  [
    'a session that holds one claim and waits for another',
    { holds: [held], waitsSince: 600 },
    'waiting',
    600,
  ],
  ['processes of a turn that is over', { holds: [leftover], liveness: 'alive' }, 'background', 700],
  ['a claim beside processes of an earlier turn', { holds: [leftover, held] }, 'working', 900],
  ['an agent that died and left processes', { holds: [leftover], liveness: 'dead' }, 'crashed', 500],
  [
    'a session that was closed and left processes',
    { holds: [leftover], liveness: 'dead', recorded: 'closed' },
    'background',
    700,
  ],
  ['an agent that cannot be seen', { liveness: 'unknown' }, 'idle', 500],
  ['a writer that died', { recorded: 'crashed' }, 'crashed', 500],
  ['a writer that died, of an agent that lives', { recorded: 'crashed', liveness: 'alive' }, 'idle', 500],
  ['records that are damaged', { recorded: 'damaged' }, 'damaged', 500],
  [
    'records that are damaged, of an agent that lives',
    { recorded: 'damaged', liveness: 'alive' },
    'damaged',
    500,
  ],
  ['a writer that wrote just now', { recorded: 'active', lastAt: now - 30_000 }, 'working', now - 30_000],
  ['a writer that wrote a while ago', { recorded: 'active', lastAt: now - 30_001 }, 'idle', now - 30_001],
  ['a writer that cannot be seen', { recorded: 'locked', lastAt: now }, 'idle', now],
])('%s: %#', (_, evidence, state, since) => {
  expect(tileStateOf({ holds: [], lastAt: 500, ...evidence }, now)).toEqual({ state, since })
})

test('what needs a person comes first, and a crash or damage of last week last', () => {
  const day = 86_400_000
  const at = (
    state: Parameters<ReturnType<typeof byNeed>>[0]['state'],
    since: number,
    id: string = state,
  ) => ({
    session_id: id,
    state,
    since,
  })
  const tiles = [
    at('idle', 9 * day),
    at('crashed', 2 * day, 'old crash'),
    at('damaged', day, 'old damage'),
    at('damaged', 9 * day, 'new damage'),
    at('working', 9 * day),
    at('waiting', 9 * day),
    at('crashed', 9 * day, 'new crash'),
    at('background', 9 * day),
  ]
  expect(tiles.sort(byNeed(9 * day)).map(({ session_id }) => session_id)).toEqual([
    'new crash',
    'new damage',
    'waiting',
    'working',
    'background',
    'idle',
    'old crash',
    'old damage',
  ])
})
