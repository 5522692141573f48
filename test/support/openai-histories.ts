import { randomUUID } from 'node:crypto'
import { type AgentInputItem, MemorySession } from '@openai/agents-core'
import fc from 'fast-check'
import { expect } from 'vitest'
import { StintSession } from '../../src/frameworks/openai-agents.ts'
import type { SessionStore } from '../../src/session/index.ts'

type Histories = [mine: StintSession, theirs: MemorySession]
/** Does the same to both sessions. */
type Step = (sessions: Histories) => unknown

const message = (n: number): AgentInputItem => ({ type: 'message', role: 'user', content: `message ${n}` })
const call = (n: number): AgentInputItem => ({
  type: 'function_call',
  callId: `call ${n}`,
  name: 'tool',
  arguments: '{"ü":[1]}',
  status: 'completed',
})

const number = fc.nat(4)
const item: fc.Arbitrary<AgentInputItem> = fc.oneof(
  number.map(message),
  number.map(call),
  number.map((n) => ({ ...message(n), providerData: { nothing: undefined, none: null, minus: -0 } })),
  number.map((n) => ({ ...message(n), providerData: { bytes: new Uint8Array([n, 255]), big: NaN } })),
  number.map((n) => ({ type: 'no such type', n })),
)
const items = fc.array(item, { maxLength: 3 })
const operationId = fc.oneof(
  fc.nat(3).map((n) => `operation ${n}`),
  fc.constantFrom('', ' '),
)

/** Calls a method of both, and compares the results, or that both have refused. */
async function compare(sessions: Histories, act: (session: StintSession | MemorySession) => unknown) {
  const [mine, theirs] = await Promise.allSettled(sessions.map(async (session) => await act(session)))
  expect(mine?.status).toBe(theirs?.status)
  if (mine?.status === 'fulfilled' && theirs?.status === 'fulfilled')
    expect(mine.value).toStrictEqual(theirs.value)
}

const step: fc.Arbitrary<Step> = fc.oneof(
  items.map(
    (added): Step =>
      (both) =>
        compare(both, (session) => session.addItems(added)),
  ),
  fc.constant<Step>((both) => compare(both, (session) => session.popItem())),
  fc.constantFrom(undefined, -1, 0, 1, 2, 100).map(
    (limit): Step =>
      (both) =>
        compare(both, (session) => session.getItems(limit)),
  ),
  fc.record({ operationId, items }).map(
    ({ operationId: id, items: added }): Step =>
      (both) =>
        compare(both, (session) => {
          const transaction = { type: 'append_items' as const, items: added }
          return session.applyHistoryTransaction({ operationId: id, transaction })
        }),
  ),
  fc
    .record({ operationId, length: fc.nat(3), wrong: fc.option(item), replacement: items })
    .map(({ operationId: id, length, wrong, replacement }): Step => async (both) => {
      const suffix = await both[1].getItems(length)
      const expectedSuffix = wrong === null ? suffix : [...suffix, wrong]
      const transaction = { type: 'replace_suffix' as const, expectedSuffix, replacement }
      return await compare(both, (session) =>
        session.applyHistoryTransaction({ operationId: id, transaction }),
      )
    }),
  fc.record({ from: number, to: number }).map(
    ({ from, to }): Step =>
      (both) =>
        compare(both, (session) => {
          const replacement = { ...call(from), name: `renamed ${to}` }
          const mutation = { type: 'replace_function_call' as const, callId: `call ${from}`, replacement }
          return session.applyHistoryMutations({ mutations: [mutation] })
        }),
  ),
  fc.constantFrom({}, { operationId: 'x' }, { operationId: 'x', transaction: { type: 'other' } }).map(
    (args): Step =>
      (both) =>
        compare(both, (session) => session.applyHistoryTransaction(args as never)),
  ),
)

/** A step, or the end of the conversation, or a restart of the program. */
const order = fc.oneof(
  { weight: 12, arbitrary: step },
  { weight: 1, arbitrary: fc.constant('clear' as const) },
  { weight: 2, arbitrary: fc.constant('reopen' as const) },
  { weight: 2, arbitrary: fc.constant('read elsewhere' as const) },
)

/**
 * Plays random conversations on a session of stint and on the SDK's own: no result and no item may differ.
 * Returns the number of steps.
 */
export async function compareHistories(open: () => SessionStore, numRuns: number): Promise<number> {
  let store = open()
  let steps = 0
  const property = fc.asyncProperty(fc.array(order, { maxLength: 12 }), async (orders) => {
    const sessionId = randomUUID()
    const theirs = new MemorySession({ sessionId })
    let mine = new StintSession(store, { sessionId })
    steps += orders.length
    for (const each of orders) {
      if (typeof each === 'function') await each([mine, theirs])
      if (each === 'clear') await compare([mine, theirs], (session) => session.clearSession())
      if (each === 'reopen') {
        await store.close()
        store = open()
        mine = new StintSession(store, { sessionId })
      }
      if (each === 'read elsewhere')
        await compare([new StintSession(open(), { sessionId }), theirs], (session) => session.getItems())
    }
    await compare([mine, theirs], (session) => session.getItems())
  })
  await fc.assert(property, { numRuns }).finally(() => store.close())
  return steps
}
