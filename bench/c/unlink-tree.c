// unlink-tree DIRECTORY: removes a tree with unlinkat in open directories, and prints the nanoseconds that it
// took.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void empty(int fd) {
  DIR *directory = fdopendir(fd);
  if (!directory) fail("fdopendir");
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (entry->d_type != DT_DIR) {
      if (unlinkat(dirfd(directory), entry->d_name, 0)) fail("unlinkat");
      continue;
    }
    int inner = openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (inner < 0) fail("openat");
    empty(inner);
    if (unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR)) fail("rmdir");
  }
  closedir(directory);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  int fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) fail(argv[1]);
  empty(fd);
  if (rmdir(argv[1])) fail("rmdir");
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf("%lld\n", (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec));
}
