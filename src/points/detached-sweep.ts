import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { ifPossible } from '../base/errors/if-possible.ts'
import { sweepPoints } from './sweep-points.ts'

/** What the sweep needs of the environment. Without the variables of a session it is no work of one. */
const passedOn = /^(?:HOME|PATH|LANG|TMPDIR|STINT_HOME|XDG_CONFIG_HOME)$/

/** Starts `points-sweep.cjs` in the background. Never waits and never throws: an agent must not notice. */
export function startSweep(program: string): void {
  try {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name)))
    const child = spawn(process.execPath, [program], { detached: true, stdio: 'ignore', cwd: '/', env })
    child.on('error', () => {})
    child.unref()
  } catch {
    // The next `stint sweep` does it.
  }
}

/** The program `points-sweep.cjs`. `stint doctor` shows what the sweep has found. */
export async function sweepInBackground(): Promise<void> {
  ifPossible(() => setPriority(10))
  await sweepPoints().catch(() => {})
}
