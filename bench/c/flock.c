// Takes and releases an flock on an open file COUNT times; prints nanoseconds a cycle.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
  long count = atol(argv[2]);
  if (fd < 0) return 1;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (long i = 0; i < count; i++) {
    if (flock(fd, LOCK_EX) != 0 || flock(fd, LOCK_UN) != 0) return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%.1f\n", ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / count);
  return 0;
}
