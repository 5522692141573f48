import { execFile } from 'node:child_process'

/** The end of a program; the code is null if it could not be started, or a signal ended it. */
export interface ProgramExit {
  code: number | null
  stdout: string
  stderr: string
}

interface ProgramOptions {
  cwd?: string
  env: NodeJS.ProcessEnv
  /** The whole of its stdin, which is empty otherwise. */
  input?: string
  /** Milliseconds after which it is killed. */
  timeoutMs?: number
  /** Kills it. */
  signal?: AbortSignal
}

/** Runs a program to its end while the event loop goes on, so that a signal to this process is heard. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env, input = '', timeoutMs: timeout, signal }: ProgramOptions,
): Promise<ProgramExit> {
  return new Promise((resolve) => {
    const options = { cwd, env, timeout, signal, killSignal: 'SIGKILL' } as const
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      resolve({ code, stdout, stderr })
    })
    // A program that ends without reading its input closes the pipe.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}
