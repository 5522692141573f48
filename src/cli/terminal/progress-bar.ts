import type { BareContext } from '../../command/context.ts'
import { isTerminal } from '../../command/stdio.ts'
import { writeOut } from '../../base/process/write-output.ts'
import { systemClock } from '../../base/process/clock.ts'
import { ProgressBar, wantsProgress } from './progress.ts'

/** A bar on stderr, if somebody looks at it; an interruption clears it away. */
export async function openProgressBar(
  label: string,
  { signal, quiet }: Pick<BareContext, 'signal' | 'quiet'>,
): Promise<ProgressBar | undefined> {
  if (quiet || !wantsProgress(await isTerminal(2), process.env)) return undefined
  const write = (text: string): void => void writeOut(2, text)
  const bar = new ProgressBar({ label, columns: process.stderr.columns || 80, write, now: systemClock.mono })
  // What is said about the interruption must not stand behind the bar.
  signal.addEventListener('abort', () => bar.clear(), { once: true })
  return bar
}
