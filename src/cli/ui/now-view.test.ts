import { expect, test } from 'vitest'
import { byNeed, type TileEvidence, tileStateOf } from './now-view.ts'

const now = 1_000_000
const running = { state: 'running', since: 900 } as const
const asking = { state: 'waiting', since: 800 } as const
const background = { state: 'background', since: 700 } as const

test.each<[string, Partial<TileEvidence>, string, number]>([
  ['a session with nothing', {}, 'idle', 500],
  ['a call that runs', { work: [running], liveness: 'alive' }, 'working', 900],
  [
    'a call that waits for its user',
    { work: [asking], askedAt: 800, liveness: 'alive' },
    'waits-for-you',
    800,
  ],
  [
    'a question that is older than its hold on the claim',
    { askedAt: 100, liveness: 'alive' },
    'waits-for-you',
    100,
  ],
  ['a call that runs after its user was asked', { work: [running], askedAt: 800 }, 'working', 900],
  ['a place in line', { waitsSince: 600 }, 'waiting', 600],
  ['a place in line beside a call that runs', { work: [running], waitsSince: 600 }, 'waiting', 600],
  ['a question beside a place in line', { askedAt: 800, waitsSince: 600 }, 'waits-for-you', 800],
  ['processes of a turn that is over', { work: [background], liveness: 'alive' }, 'background', 700],
  ['a call beside processes of an earlier turn', { work: [background, running] }, 'working', 900],
  ['an agent that died', { liveness: 'dead' }, 'crashed', 500],
  ['an agent that died and left processes', { work: [background], liveness: 'dead' }, 'crashed', 500],
  ['an agent that died while it asked', { askedAt: 800, liveness: 'dead' }, 'crashed', 500],
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
  expect(tileStateOf({ work: [], lastAt: 500, ...evidence }, now)).toEqual({ state, since })
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
    at('waits-for-you', 8 * day, 'asked first'),
    at('waits-for-you', 9 * day, 'asked last'),
  ]
  expect(tiles.sort(byNeed(9 * day)).map(({ session_id }) => session_id)).toEqual([
    'asked last',
    'asked first',
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
