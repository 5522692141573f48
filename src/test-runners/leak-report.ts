import type { Leak } from './leak-watch.ts'
import { leaksOf, type TestOptions } from './options.ts'

/** Says something to whoever reads the runner's output. */
export type Say = (message: string) => void

/** Says what was left, or throws it, or keeps quiet, as the options have it. */
export function tellLeak(leak: Leak | undefined, otherwise: string, options: TestOptions, say: Say): void {
  const policy = leaksOf(options)
  if (leak === undefined || policy === 'off') return
  const message = `left in TMPDIR by ${suspects(leak.tests) ?? otherwise}: ${shorten(leak.entries)}`
  if (policy === 'fail') throw withoutStack(new Error(message))
  say(`stint: ${message} (removed with the run; see "leaks" in docs/testing.md)`)
}

/** Where we looked says nothing of where it was left. */
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
