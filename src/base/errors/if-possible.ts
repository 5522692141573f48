/** Runs a call; undefined if it throws, whatever the reason. */
export function ifPossible<Result>(call: () => Result): Result | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}

/** Runs a call; false if it throws. */
export function succeeds(call: () => unknown): boolean {
  try {
    call()
    return true
  } catch {
    return false
  }
}

/** Runs a call; if it throws, throws what `explain` makes of the error. */
export function explained<Result>(explain: (error: unknown) => unknown, call: () => Result): Result {
  try {
    return call()
  } catch (error) {
    throw explain(error)
  }
}
