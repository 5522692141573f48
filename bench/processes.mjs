import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The environment of a measured process. Small on purpose: NODE_EXTRA_CA_CERTS alone makes Node 20 start
 * nearly three times as slowly, and npm adds dozens of variables.
 */
export const environment = ({ tmp }) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TMPDIR: tmp,
  STINT_TMP_ROOT: tmp,
})

/** Runs a program to its end. Throws on an unexpected exit code: a failed start is fast. */
export function run([file, ...args], place, stdio = 'ignore', { env = {}, exit = 0 } = {}) {
  const start = process.hrtime.bigint()
  const { status, signal, error, stdout } = spawnSync(file, args, {
    env: { ...environment(place), ...env },
    stdio,
  })
  const end = process.hrtime.bigint()
  if (error !== undefined) throw error
  if (status !== exit) throw new Error(`${file} ${args.join(' ')}: ended with ${status ?? signal}`)
  return { start, end, stdout: String(stdout ?? '') }
}

/** Waits for a guard, which runs on for a moment after its process and would slow down the next sample. */
export const settle = () => sleep(6)
