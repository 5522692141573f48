import { isTerminal } from '../../command/is-terminal.ts'
import { writeOut } from '../../base/process/write-output.ts'
import { type Book, look } from '../../lease/workspace-claims.ts'
import { runAsync } from '../../lease/register.ts'
import { decideAcquire, type AcquireRequest } from '../../lease/rules.ts'
import { ageOf } from '../../lease/staleness.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatAge } from '../text/times.ts'

/** A shorter wait is not worth a word. */
const momentMs = 1000

/** Tells a person at a terminal whom a command waits for, if it still does after a moment. */
export async function announceWait<Result>(
  waiting: Promise<Result>,
  quiet: boolean,
  wanted: () => { book: Book; request: AcquireRequest },
): Promise<Result> {
  if (quiet) return await waiting
  const timer = setTimeout(() => void tell(wanted), momentMs)
  try {
    return await waiting
  } finally {
    clearTimeout(timer)
  }
}

async function tell(wanted: () => { book: Book; request: AcquireRequest }): Promise<void> {
  try {
    if (!(await isTerminal(2))) return
    const { book, request } = wanted()
    const { claims, observation } = await runAsync(book.register, look(book))
    const { answer } = decideAcquire(claims, request, observation, 0)
    if (answer.granted) return
    const { session_id, purpose } = answer.by
    const age = formatAge(ageOf(answer.by, observation.now))
    const what = purpose === null ? '' : `, ${JSON.stringify(purpose)}`
    const line = `stint: waiting for ${session_id}${what}, refreshed ${age} ago`
    writeOut(2, `${visibleText(line, 500)}\n`)
  } catch {
    // What is wrong, the waiting itself will tell.
  }
}
