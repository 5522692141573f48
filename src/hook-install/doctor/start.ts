import { spawnSync } from 'node:child_process'
import type { Ended } from './denied.ts'

/** Starts a program with this on its stdin, and waits for its end, but not for ever. */
export function ended(
  command: string,
  args: readonly string[],
  cwd: string,
  input: string,
  env: NodeJS.ProcessEnv,
): Ended {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env,
    input,
    encoding: 'utf8',
    timeout: 10_000,
    killSignal: 'SIGKILL',
  })
  return { code: status, stdout: stdout ?? '', stderr: stderr ?? '' }
}
