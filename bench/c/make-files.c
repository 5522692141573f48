// make-files COUNT NOTE [DIRECTORY]: creates COUNT small files in DIRECTORY (default: $TMPDIR), then writes
// the monotonic time in nanoseconds and the number of files to NOTE.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const char *where = argc == 4 ? argv[3] : getenv("TMPDIR");
  if (argc < 3 || !where) return 2;
  int note = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int directory = open(where, O_RDONLY | O_DIRECTORY);
  if (note < 0 || directory < 0) return 2;
  long count = atol(argv[1]), made = 0;
  static const char content[] = "thirty-two bytes in each of them";
  for (; made < count; made++) {
    char name[32];
    snprintf(name, sizeof name, "file-%ld", made);
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, content, sizeof content - 1) != sizeof content - 1) return 3;
    close(fd);
  }
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  dprintf(note, "%lld %ld\n", t.tv_sec * 1000000000LL + t.tv_nsec, made);
  _exit(0);
}
