import { readdirSync } from 'node:fs'
import { ifPossible } from '../base/errors/if-possible.ts'
import { leaksOf, type TestOptions } from './options.ts'

/** Files left in the temp directory, and the tests that may have left them. */
interface Leak {
  entries: string[]
  /** One test, several that ran concurrently, or none. */
  tests: string[]
}

/**
 * Compares a temp directory before and after each test. A file left by one of several concurrent tests cannot
 * be attributed, so these tests are judged together when the last of them has ended.
 */
export class LeakWatch {
  readonly #directory: string
  /** Entries that existed before the running tests started. */
  #before = new Set<string>()
  #reported = new Set<string>()
  #running = new Set<string>()
  /** The tests that overlap with the running ones. */
  #concurrent: string[] = []

  constructor(directory: string) {
    this.#directory = directory
  }

  begin(test: string): void {
    // Files that a subtest leaves are attributed to its outermost test.
    if ([...this.#running].some((running) => test.startsWith(`${running} > `))) return
    if (this.#running.size === 0) {
      this.#before = new Set(listLeft(this.#directory))
      this.#concurrent = []
    }
    this.#running.add(test)
    this.#concurrent.push(test)
  }

  /** The files left by the tests that have ended; undefined while other tests still run. */
  end(test: string): Leak | undefined {
    if (!this.#running.delete(test) || this.#running.size > 0) return undefined
    return this.#leak(this.#before, this.#concurrent)
  }

  /** The other files left: by code at the top of the file, by its hooks, or by tests that never ended. */
  close(): Leak | undefined {
    return this.#leak(new Set(), [...this.#running])
  }

  #leak(before: ReadonlySet<string>, tests: string[]): Leak | undefined {
    const isNew = (entry: string): boolean => !before.has(entry) && !this.#reported.has(entry)
    const entries = listLeft(this.#directory).filter(isNew)
    for (const entry of entries) this.#reported.add(entry)
    return entries.length === 0 ? undefined : { entries, tests }
  }
}

/** The entries of a temp directory, without the caches of Node, which are meant to stay. */
export const listLeft = (directory: string): string[] =>
  // If the code under test has removed the directory, nothing is left in it.
  (ifPossible(() => readdirSync(directory)) ?? []).filter((name) => !/^(node|v8)-compile-cache/.test(name))

/** Prints a message among the output of the test runner. */
export type Say = (message: string) => void

/** Prints, throws or ignores a leak, as the options say. `origin` names the code without a test. */
export function reportLeak(leak: Leak | undefined, origin: string, options: TestOptions, say: Say): void {
  const policy = leaksOf(options)
  if (leak === undefined || policy === 'off') return
  const message = `left in TMPDIR by ${suspects(leak.tests) ?? origin}: ${shorten(leak.entries)}`
  if (policy === 'fail') throw withoutStack(new Error(message))
  say(`stint: ${message} (removed with the run; see "leaks" in docs/testing.md)`)
}

/** Drops the stack trace, which shows where stint found the files, not which code left them. */
function withoutStack(error: Error): Error {
  error.stack = String(error)
  return error
}

function suspects(tests: readonly string[]): string | undefined {
  const quoted = tests.map((test) => JSON.stringify(test))
  if (quoted.length < 2) return quoted[0] && `the test ${quoted[0]}`
  return `one of these tests, which ran at once: ${shorten(quoted)}`
}

const shorten = (items: readonly string[]): string =>
  items.length > 8 ? `${items.slice(0, 8).join(', ')} and ${items.length - 8} more` : items.join(', ')
