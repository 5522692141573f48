import { equal, ok } from 'node:assert/strict'
import type { SessionStore } from '../../session/index.ts'

/** A set of sessions for one case, empty at first. */
export interface StorePlace {
  /** A store on these sessions. Each call gives another one, as another process would have it. */
  open(): SessionStore | Promise<SessionStore>
  /** Makes a session look as if another kind of store had written it. */
  disown(id: string): void | Promise<void>
  /** Adds a key to what is kept of a session as a whole, as a later version might. */
  addToManifest(id: string, key: string, value: unknown): void | Promise<void>
}

/** What a case does with a store, and with the place it works on. */
export type StoreCase = [title: string, run: (store: SessionStore, place: StorePlace) => Promise<void>]

/** The code of the error with which something fails. */
export async function codeOf(failing: Promise<unknown>): Promise<string> {
  try {
    await failing
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string }
    ok(typeof code === 'string', `fails without a code: ${message}`)
    return code
  }
  return 'no error'
}

export async function rejects(code: string, ...failing: Promise<unknown>[]): Promise<void> {
  // All at once: one that fails while another is waited for would be heard by nobody.
  for (const each of await Promise.all(failing.map(codeOf))) equal(each, code)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The same numbers for the same seed, below a bound. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
}
