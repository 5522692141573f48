// time-of COUNT BEFORE INPUT FIRST... -- COMMAND...: runs FIRST once with the file BEFORE on stdin, then
// COMMAND COUNT times with INPUT, and prints the CPU time and the wall time of one run of COMMAND in
// nanoseconds. It starts them without a copy of itself: a start from a large process, such as Node, takes
// longer than the script does. Exits with 1 if a run fails. It is the agent: FIRST gets it a pass.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long run(char **command, const char *input) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, input, O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  pid_t pid;
  int status;
  struct rusage usage;
  if (posix_spawnp(&pid, command[0], &files, NULL, command, environ) != 0) return -1;
  if (wait4(pid, &status, 0, &usage) != pid || status != 0) return -1;
  posix_spawn_file_actions_destroy(&files);
  struct timeval *user = &usage.ru_utime, *system = &usage.ru_stime;
  return ((user->tv_sec + system->tv_sec) * 1000000LL + user->tv_usec + system->tv_usec) * 1000;
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv) {
  char pid[16];
  snprintf(pid, sizeof pid, "%d", getpid());
  setenv("CLAUDE_PID", pid, 1);
  int split = 4;
  while (split < argc && strcmp(argv[split], "--") != 0) split++;
  if (split + 1 >= argc) return 2;
  argv[split] = NULL;
  if (run(argv + 4, argv[2]) < 0) return 1;
  long long sum = 0, start = now();
  int count = atoi(argv[1]);
  for (int i = 0; i < count; i++) {
    long long used = run(argv + split + 1, argv[3]);
    if (used < 0) return 1;
    sum += used;
  }
  printf("%lld %lld\n", sum / count, (now() - start) / count);
  return 0;
}
