import { readdirSync } from 'node:fs'

/** What was left in the temp directory, and which tests can have been it: one, or several that ran at once, or none. */
export interface Leak {
  entries: string[]
  tests: string[]
}

/**
 * Compares a temp directory before and after each test. Of tests that run at once nobody can say whose a file is, so
 * they are judged together, when the last of them has ended.
 */
export class LeakWatch {
  readonly #directory: string
  /** There before the tests that now run. */
  #before = new Set<string>()
  #told = new Set<string>()
  #running = new Set<string>()
  #together: string[] = []

  constructor(directory: string) {
    this.#directory = directory
  }

  begin(test: string): void {
    // What a subtest leaves is told as its outermost test's.
    if ([...this.#running].some((running) => test.startsWith(`${running} > `))) return
    if (this.#running.size === 0) {
      this.#before = new Set(listLeft(this.#directory))
      this.#together = []
    }
    this.#running.add(test)
    this.#together.push(test)
  }

  /** What the tests that are now over have left, unless others still run. */
  end(test: string): Leak | undefined {
    if (!this.#running.delete(test) || this.#running.size > 0) return undefined
    return this.#leak(this.#before, this.#together)
  }

  /** What is left besides: by code at the top of the file, by its hooks, or by tests that never ended. */
  close(): Leak | undefined {
    return this.#leak(new Set(), [...this.#running])
  }

  #leak(before: ReadonlySet<string>, tests: string[]): Leak | undefined {
    const entries = listLeft(this.#directory).filter((entry) => !before.has(entry) && !this.#told.has(entry))
    for (const entry of entries) this.#told.add(entry)
    return entries.length === 0 ? undefined : { entries, tests }
  }
}

/** What is in a temp directory, but for Node's own caches, which are meant to stay. */
export function listLeft(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => !/^(node|v8)-compile-cache/.test(name))
  } catch {
    // The code under test has removed the directory: nothing is left in it.
    return []
  }
}
