import { closeSync, openSync } from 'node:fs'
import { succeeds } from '../base/errors/if-possible.ts'
import { readProcessStat } from '../base/process/platform.ts'

// Terminal handling that keeps `stint run` invisible behind its foreground child.

/** Is there a terminal whose keys send signals to our process group? It need not be stdin. */
export const hasControllingTerminal = (): boolean => succeeds(() => closeSync(openSync('/dev/tty', 'r+')))

/**
 * Stops this process at Ctrl-Z, but only after its children. Ctrl-Z reaches all of them at once: if we
 * stopped first, the shell would take the terminal back while the child is still restoring its modes.
 */
export function stopWithChildren(children: () => readonly number[]): void {
  let isAsked = false
  const stopIfReady = (): void => {
    if (!isAsked || !children().every(hasStopped)) return
    process.off('SIGTSTP', ask)
    process.kill(process.pid, 'SIGTSTP')
    // Execution goes on here after `fg`.
    isAsked = false
    process.on('SIGTSTP', ask)
  }
  const ask = (): void => {
    isAsked = true
    stopIfReady()
  }
  process.on('SIGTSTP', ask)
  // The kernel sends SIGCHLD also when a child stops.
  process.on('SIGCHLD', stopIfReady)
  process.on('SIGCONT', () => {
    isAsked = false
  })
}

const hasStopped = (pid: number): boolean => {
  const state = readProcessStat(pid)?.state
  return state === undefined || state === 'T' || state === 'Z'
}

/**
 * Closes the terminal's descriptors. At exit, Node resets each open terminal to its modes at start-up, and so
 * overrides what the child has set, or what a program that is in the foreground by now uses.
 */
export async function leaveTerminalAsItIs(): Promise<void> {
  const { isatty } = await import('node:tty')
  for (const fd of [0, 1, 2]) if (isatty(fd)) closeSync(fd)
}

/** Dies of SIGINT: bash stops a script at Ctrl-C only if its child died of it. Exit code 130 does not do. */
export function dieOfInterrupt(): void {
  process.removeAllListeners('SIGINT')
  process.kill(process.pid, 'SIGINT')
}
