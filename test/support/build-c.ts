import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Compiles a small C program into a directory and returns its path. */
function buildC(directory: string, source: string, ...flags: string[]): string {
  const file = join(directory, 'program.c')
  const program = join(directory, 'program')
  writeFileSync(file, source)
  execFileSync('cc', ['-O1', '-o', program, file, ...flags], { stdio: 'pipe' })
  return program
}

/** A program whose main thread ends at once while another goes on: a zombie to look at, and alive. Says `up`. */
export const buildHalfDead = (directory: string): string =>
  buildC(
    directory,
    `#include <pthread.h>
     #include <unistd.h>
     static void *run(void *arg) { write(1, "up\\n", 3); pause(); return arg; }
     int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_exit(0); }`,
    '-pthread',
  )
