import { equal, ok } from 'node:assert/strict'
import type { Clock } from '../base/process/clock.ts'
import { createStore, type Medium, type SessionStore } from '../session/index.ts'

/** One thing that a driver must do; run it with any test runner. */
export interface ConformanceCase {
  title: string
  run: () => Promise<void>
}

/** Opens a medium on a set of sessions, empty at first: each call another one, as if in another process. */
export type OpenMedium = () => Medium | Promise<Medium>

/** A set of sessions for one case. */
export class MediumPlace {
  readonly #open: OpenMedium

  constructor(open: OpenMedium) {
    this.#open = open
  }

  async medium(): Promise<Medium> {
    return await this.#open()
  }

  /** Opens another store on these sessions. `clock` dates its records. */
  async open(clock?: Clock): Promise<SessionStore> {
    return createStore(await this.#open(), clock)
  }
}

/** Cases of the store suite by title: what each does with a store and its place. */
export type StoreCases = Record<string, (store: SessionStore, place: MediumPlace) => Promise<void>>

/** The code of the error with which a promise rejects. */
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

/** Asserts that all of these promises reject with this code. */
export async function rejects(code: string, ...failing: Promise<unknown>[]): Promise<void> {
  // Awaited together: a promise that rejects while another one is awaited would count as unhandled.
  for (const each of await Promise.all(failing.map(codeOf))) equal(each, code)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** One field of each item. */
export async function valuesOf<T, Key extends keyof T>(
  items: AsyncIterable<T> | Iterable<T> | Promise<Iterable<T>>,
  key: Key,
): Promise<T[Key][]> {
  const values: T[Key][] = []
  for await (const item of await items) values.push(item[key])
  return values
}

/** Several fields of each item. */
export async function fieldsOf<T>(
  items: AsyncIterable<T> | Iterable<T> | Promise<Iterable<T>>,
  ...keys: (keyof T)[]
): Promise<unknown[][]> {
  const rows: unknown[][] = []
  for await (const item of await items) rows.push(keys.map((key) => item[key]))
  return rows
}

/** Returns a generator of numbers below a bound; equal seeds give equal numbers. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
}

/** Polls until a condition holds. The time limit only ends a case that would hang. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await condition());) {
    ok(Date.now() < end, `still not so: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
