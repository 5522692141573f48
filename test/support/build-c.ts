import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Compiles a small C program into a directory and returns its path. */
export function buildC(directory: string, source: string, ...flags: string[]): string {
  const file = join(directory, 'program.c')
  const program = join(directory, 'program')
  writeFileSync(file, source)
  execFileSync('cc', ['-O1', '-o', program, file, ...flags], { stdio: 'pipe' })
  return program
}
