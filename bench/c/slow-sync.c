/*
 * Preloaded into a program, makes each fsync and fdatasync take SLOW_SYNC_MS milliseconds longer. With
 * SLOW_SYNC_LOG, each adds a line to that file: `main` or `pool`, and how many syncs are under way.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int under_way;

static void note(int count) {
  const char *path = getenv("SLOW_SYNC_LOG");
  if (path == NULL) return;
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  dprintf(file, "%s %d\n", syscall(SYS_gettid) == getpid() ? "main" : "pool", count);
  close(file);
}

static int slowly(long call, int file) {
  const char *ms = getenv("SLOW_SYNC_MS");
  double wanted = ms == NULL ? 0 : atof(ms);
  struct timespec delay = {(time_t)(wanted / 1000), (long)(wanted * 1e6) % 1000000000};
  note(atomic_fetch_add(&under_way, 1) + 1);
  nanosleep(&delay, NULL);
  int result = (int)syscall(call, file);
  atomic_fetch_sub(&under_way, 1);
  return result;
}

int fsync(int file) { return slowly(SYS_fsync, file); }
int fdatasync(int file) { return slowly(SYS_fdatasync, file); }
