// read-stat PID STARTED CALLS: the floor of the liveness bench. Reads /proc/PID/stat CALLS times, compares
// the start time each time, and prints nanoseconds a call. Exits with 1 if the start time differs.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long started_of(const char *path) {
  char text[1024];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return -1;
  text[length] = 0;
  // A command name may contain spaces and parentheses: count the fields after the last parenthesis.
  char *at = strrchr(text, ')');
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  return at ? atol(at + 1) : -1;
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/stat", argv[1]);
  long expected = atol(argv[2]);
  long calls = atol(argv[3]);
  if (started_of(path) != expected) return 1;
  long long start = now();
  for (long i = 0; i < calls; i++) {
    if (started_of(path) != expected) return 1;
  }
  printf("%f\n", (double)(now() - start) / calls);
  return 0;
}
