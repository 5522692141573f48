import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Compiles a small C program into a directory and returns its path. */
function buildC(directory: string, source: string, ...flags: string[]): string {
  const name = createHash('sha256').update(source).digest('hex').slice(0, 12)
  const file = join(directory, `${name}.c`)
  const program = join(directory, name)
  writeFileSync(file, source)
  execFileSync('cc', ['-O1', '-o', program, file, ...flags], { stdio: 'pipe' })
  return program
}

/**
 * A program that shuts a mounted ext4 down like a power cut: from then on nothing reaches its device, not
 * even the unwritten part of its journal. It prints the time of `process.hrtime` before that: the kernel
 * reports success for a sync that is under way, although its data may be lost.
 */
export const buildPowerCut = (directory: string): string =>
  buildC(
    directory,
    `#include <fcntl.h>
     #include <stdio.h>
     #include <sys/ioctl.h>
     #include <time.h>
     int main(int count, char **args) {
       unsigned without_flushing = 2;
       struct timespec now;
       int directory = open(args[1], O_RDONLY);
       clock_gettime(CLOCK_MONOTONIC, &now);
       printf("%lld\\n", now.tv_sec * 1000000000LL + now.tv_nsec);
       fflush(stdout);
       if (ioctl(directory, _IOR('X', 125, unsigned), &without_flushing) == 0) return 0;
       perror("shutdown");
       return 1;
     }`,
  )

/** A library that, when preloaded, turns every sync into a no-op. */
export const buildNoSync = (directory: string): string =>
  buildC(
    directory,
    `int fsync(int file) { return 0; }
     int fdatasync(int file) { return 0; }`,
    '-shared',
    '-fPIC',
  )

/** A library that, when preloaded, makes all file systems look like one without links. */
export const buildNoLinks = (directory: string): string =>
  buildC(
    directory,
    `#include <errno.h>
     int symlink(const char *target, const char *path) { errno = EPERM; return -1; }
     int link(const char *from, const char *to) { errno = EPERM; return -1; }`,
    '-shared',
    '-fPIC',
  )

/**
 * A program whose main thread ends at once while another goes on: it looks like a zombie, but is alive.
 * Prints `up`.
 */
export const buildHalfDead = (directory: string): string =>
  buildC(
    directory,
    `#include <pthread.h>
     #include <unistd.h>
     static void *run(void *arg) { write(1, "up\\n", 3); pause(); return arg; }
     int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_exit(0); }`,
    '-pthread',
  )

/** The library that counts file calls and fails one of them: see `fail-call.c`. */
export const buildFailCall = (directory: string): string =>
  buildC(
    directory,
    readFileSync(new URL('fail-call.c', import.meta.url), 'utf8'),
    '-Wall',
    '-Werror',
    '-shared',
    '-fPIC',
  )

/** The library that, when preloaded, makes syncs slow and tells where they run: see `slow-sync.c`. */
export const buildSlowSync = (directory: string): string =>
  buildC(
    directory,
    readFileSync(new URL('../../bench/c/slow-sync.c', import.meta.url), 'utf8'),
    '-Wall',
    '-Werror',
    '-shared',
    '-fPIC',
  )
