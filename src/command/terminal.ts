import { closeSync, openSync } from 'node:fs'
import { readProcessStat } from '../base/process/platform.ts'

/**
 * What it takes to stand behind a program in the foreground of a terminal as if one were not there.
 */

/** Is there a terminal whose keys send signals to our process group? What stdin is does not matter. */
export function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r+'))
    return true
  } catch {
    return false
  }
}

/**
 * Ctrl-Z reaches us and the program at once. If we stopped first, the shell would take the terminal while the program is still
 * putting it in order: so we stop when it has.
 */
export function stopAfter(children: () => readonly number[]): void {
  let asked = false
  const follow = (): void => {
    if (!asked || !children().every(hasStopped)) return
    process.off('SIGTSTP', ask)
    process.kill(process.pid, 'SIGTSTP')
    // Here we are again, after fg.
    asked = false
    process.on('SIGTSTP', ask)
  }
  const ask = (): void => {
    asked = true
    follow()
  }
  process.on('SIGTSTP', ask)
  // It comes also when a child stops.
  process.on('SIGCHLD', follow)
  process.on('SIGCONT', () => {
    asked = false
  })
}

const hasStopped = (pid: number): boolean => {
  const state = readProcessStat(pid)?.state
  return state === undefined || state === 'T' || state === 'Z'
}

/** At exit Node sets a terminal to what it was at the start, over what the program has set, or one in front of us uses. */
export async function leaveTerminalAsItIs(): Promise<void> {
  const { isatty } = await import('node:tty')
  for (const fd of [0, 1, 2]) if (isatty(fd)) closeSync(fd)
}

/** A bash script stops at Ctrl-C only if what it waits for has died of it, and not merely answered 130. */
export function dieOfInterrupt(): void {
  process.removeAllListeners('SIGINT')
  process.kill(process.pid, 'SIGINT')
}
