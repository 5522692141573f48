// make-tree DIRECTORY DEPTH WIDTH FILES: creates a tree of WIDTH directories in each directory, DEPTH levels
// deep, with FILES small files in each. Prints the number of entries and the nanoseconds that it took.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long made;

static void fill(int parent, const char *name, int depth, int width, long files) {
  static const char content[] = "thirty-two bytes in each of them";
  if (mkdirat(parent, name, 0700)) exit(3);
  made++;
  int directory = openat(parent, name, O_RDONLY | O_DIRECTORY);
  if (directory < 0) exit(3);
  char entry[32];
  for (long i = 1; i <= files; i++) {
    snprintf(entry, sizeof entry, "file-%ld", i);
    int fd = openat(directory, entry, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, content, sizeof content - 1) != sizeof content - 1) exit(3);
    close(fd);
    made++;
  }
  for (int i = 0; i < width && depth > 0; i++) {
    snprintf(entry, sizeof entry, "dir-%d", i);
    fill(directory, entry, depth - 1, width, files);
  }
  close(directory);
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  fill(AT_FDCWD, argv[1], atoi(argv[2]), atoi(argv[3]), atol(argv[4]));
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%ld %lld\n", made, (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec));
}
