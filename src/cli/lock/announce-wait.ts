import { isTerminal } from '../../base/process/terminal.ts'
import { ageOf, type Blocker, originText } from '../../lease/index.ts'
import { writeOut } from '../../base/process/write-output.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatAge } from '../text/format.ts'

/** A shorter wait is not announced. */
const announceAfterMs = 1000

type FindBlocker = () => Promise<Blocker | undefined>

/** Names the session that a command waits for on a terminal, if it still waits after a second. */
export async function announceWait<Result>(
  waiting: Promise<Result>,
  quiet: boolean,
  findBlocker: FindBlocker,
): Promise<Result> {
  if (quiet) return await waiting
  const timer = setTimeout(() => void announce(findBlocker), announceAfterMs)
  try {
    return await waiting
  } finally {
    clearTimeout(timer)
  }
}

async function announce(findBlocker: FindBlocker): Promise<void> {
  try {
    if (!(await isTerminal(2))) return
    const blocker = await findBlocker()
    if (blocker === undefined) return
    const { by } = blocker.refused
    const { session_id, purpose, origin } = by
    const who = originText(origin)
    const age = formatAge(ageOf(by, blocker.observation.now))
    const what = purpose === null ? '' : `, ${JSON.stringify(purpose)}`
    const line = `stint: waiting for ${session_id}${what}, refreshed ${age} ago${who && ` (${who})`}`
    writeOut(2, `${visibleText(line, 500)}\n`)
  } catch {
    // The wait itself reports a failure of the register.
  }
}
