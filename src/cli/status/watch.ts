import type { BareContext } from '../../command/context.ts'
import { isTerminal, type Paint, paintFor } from '../../command/stdio.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { after } from '../../base/process/clock.ts'
import { wantsProgress } from '../terminal/progress.ts'
import { print } from '../terminal/print.ts'
import { gatherStatus, type StatusData } from './gather.ts'
import { lastingPart } from './stable-fields.ts'
import { renderStatus } from './render.ts'
import { fit, Screen } from './screen.ts'

type Watcher = Pick<BareContext, 'signal' | 'json'>

/** Shows the status again and again: on a terminal over itself, elsewhere a block for each change. Until it is stopped, or nobody looks. */
export async function watchStatus(context: Watcher, intervalMs: number): Promise<void> {
  const onTerminal = await isTerminal(1)
  const paint = await paintFor(1)
  const over = !context.json && wantsProgress(onTerminal, process.env)
  const show = over ? drawOver(intervalMs, paint) : printChanges(context.json, paint)
  while (!context.signal.aborted) {
    if (!show.next(await gatherStatus())) return
    await show.pause(intervalMs)
  }
}

interface Shown {
  /** False if nobody looks any more. */
  next(data: StatusData): boolean
  pause(ms: number): Promise<void>
}

function printChanges(json: boolean, paint: Paint): Shown {
  let last = ''
  return {
    next(data) {
      const lasting = JSON.stringify(lastingPart(data))
      if (lasting === last) return true
      const first = last === ''
      last = lasting
      const { body, todo } = renderStatus(data, paint)
      const text = json ? JSON.stringify(data) : [...(first ? [] : ['']), ...body, ...todo].join('\n')
      return print(`${text}\n`)
    },
    pause: after,
  }
}

function drawOver(intervalMs: number, paint: Paint): Shown {
  const screen = new Screen()
  let last: StatusData | undefined
  let wake = (): void => {}
  const draw = (data: StatusData): boolean => {
    const { body, todo } = renderStatus(data, paint)
    const time = new Date(data.at).toTimeString().slice(0, 8)
    const title = paint.dim(`stint status at ${time}, every ${formatDuration(intervalMs)}; Ctrl-C ends it`)
    return screen.draw(fit([title, ...body], todo, process.stdout.rows || 24))
  }
  process.stdout.on('resize', () => last !== undefined && draw(last))
  stopWithScreen(screen, () => wake())
  return {
    next: (data) => draw((last = data)),
    pause: (ms) => Promise.race([after(ms), new Promise<void>((resolve) => (wake = resolve))]),
  }
}

/** Ctrl-Z gives the screen back to the shell; at `fg` it is drawn anew, at once. */
function stopWithScreen(screen: Screen, onContinue: () => void): void {
  process.on('SIGTSTP', () => {
    screen.close()
    process.kill(process.pid, 'SIGSTOP')
  })
  process.on('SIGCONT', onContinue)
}
