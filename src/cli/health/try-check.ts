import { codedError, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { bad, type Check } from './check.ts'

/** What was found out, or why nothing could be. */
export type Attempt<Found> = { found: Found } | { check: Check }

/** Looks at one thing. What goes wrong with it is a finding like any other, and keeps nobody from looking at the rest. */
export async function attempt<Found>(
  name: string,
  look: () => Found | Promise<Found>,
): Promise<Attempt<Found>> {
  try {
    return { found: await look() }
  } catch (thrown) {
    return { check: failureOf(name, thrown) }
  }
}

export function failureOf(name: string, thrown: unknown): Check {
  const error = codedError(thrown, `look at the ${name}`)
  const fix =
    error instanceof StintError ? error.hint : 'Set STINT_DEBUG=1 to see where it came from, and report it.'
  return bad(name, errorMessage(error), fix)
}
