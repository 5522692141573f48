/*
 * A library for LD_PRELOAD that counts the file calls of a program and its children, and fails one of them.
 *
 * A call counts if its path, or the file behind its descriptor, lies in one of the directories of
 * FAULT_DIRECTORIES (separated by ':'), or if it opens one of the files of FAULT_FILES. The process must run
 * FAULT_PROGRAM: what `git` or `sh` do below stint is not counted.
 *
 * Every counted call is a line of FAULT_LOG: its number, how many errors it can have, the error that it got
 * or 0, its name, its path. The call with the number FAULT_AT gets the error FAULT_ERROR of its kind.
 * With FAULT_KILLS, the process is killed there instead, before the call.
 * FAULT_COUNT is a file with the number of calls so far, which all processes share. With FAULT_DELAY_MS,
 * every counted call first waits for that many milliseconds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The errors of each kind of call. A program meets them on a failing, full, read-only or forbidden disk. */
typedef struct {
  const char *name;
  int errors[3];
} Kind;

static const Kind Opens = {"open", {EIO, EMFILE, EACCES}};
static const Kind Creates = {"create", {ENOSPC, EMFILE, EROFS}};
static const Kind Reads = {"read", {EIO}};
static const Kind Writes = {"write", {ENOSPC, EIO}};
static const Kind Syncs = {"sync", {EIO, ENOSPC}};
static const Kind Truncates = {"truncate", {EIO}};
static const Kind Closes = {"close", {EIO}};
static const Kind Stats = {"stat", {EIO, EACCES}};
static const Kind Lists = {"list", {EIO, EMFILE, EACCES}};
static const Kind Readlinks = {"readlink", {EIO, EACCES}};
static const Kind Renames = {"rename", {ENOSPC, EROFS, EIO}};
static const Kind Links = {"link", {ENOSPC, EROFS, EIO}};
static const Kind Symlinks = {"symlink", {ENOSPC, EROFS, EIO}};
static const Kind Mkdirs = {"mkdir", {ENOSPC, EROFS, EIO}};
static const Kind Removes = {"remove", {EIO, EROFS}};
static const Kind Chmods = {"chmod", {EROFS}};
static const Kind Watches = {"watch", {ENOSPC}};

static const char *directories, *files;
static atomic_long *count;
static long failing_at;
static int failing_error, kills;
static long delay_ms;
static int log_file = -1;

#define NEXT(name) dlsym(RTLD_NEXT, #name)

static long (*next_syscall)(long, ...);

__attribute__((constructor)) static void start(void) {
  next_syscall = NEXT(syscall);
  const char *program = getenv("FAULT_PROGRAM"), *counted = getenv("FAULT_COUNT"), *log = getenv("FAULT_LOG");
  char self[PATH_MAX];
  long length = next_syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", self, sizeof self - 1);
  if (program == NULL || counted == NULL || log == NULL || length < 0) return;
  self[length] = '\0';
  if (strcmp(self, program) != 0) return;
  int file = next_syscall(SYS_openat, AT_FDCWD, counted, O_RDWR | O_CLOEXEC, 0);
  void *mapped = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  next_syscall(SYS_close, file);
  if (mapped == MAP_FAILED) return;
  log_file = next_syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
  failing_at = atol(getenv("FAULT_AT"));
  failing_error = atoi(getenv("FAULT_ERROR"));
  kills = getenv("FAULT_KILLS") != NULL;
  directories = getenv("FAULT_DIRECTORIES");
  files = getenv("FAULT_FILES");
  delay_ms = getenv("FAULT_DELAY_MS") ? atol(getenv("FAULT_DELAY_MS")) : 0;
  count = mapped;
}

static int is_in(const char *list, const char *path) {
  for (const char *from = list; *from != '\0'; from += strcspn(from, ":"), from += *from == ':') {
    size_t length = strcspn(from, ":");
    if (strncmp(path, from, length) == 0 && (path[length] == '/' || path[length] == '\0')) return 1;
  }
  return 0;
}

/* Counts a call on an absolute path; returns the error that it gets, or 0. */
static int fault(const Kind *kind, const char *path) {
  if (!is_in(directories, path) && !(kind == &Opens && is_in(files, path))) return 0;
  const struct timespec delay = {delay_ms / 1000, delay_ms % 1000 * 1000000};
  if (delay_ms > 0) nanosleep(&delay, NULL);
  int errors = 0;
  while (errors < 3 && kind->errors[errors] != 0) errors++;
  long number = atomic_fetch_add(count, 1) + 1;
  int error = number == failing_at && failing_error < errors ? kind->errors[failing_error] : 0;
  char line[PATH_MAX + 200];
  int length = snprintf(line, sizeof line, "%ld %d %d %s %s\n", number, errors, error, kind->name, path);
  next_syscall(SYS_write, log_file, line, length);
  if (error != 0 && kills) kill(getpid(), SIGKILL);
  return error;
}

/* Writes the path of an open file; returns its length, or -1. */
static long path_of_file(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  return next_syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
}

static int file_fault(const Kind *kind, int file) {
  char path[PATH_MAX];
  if (count == NULL || file == log_file) return 0;
  long length = path_of_file(file, path);
  if (length <= 0) return 0;
  path[length] = '\0';
  return fault(kind, path);
}

static int path_fault(const Kind *kind, int directory, const char *given) {
  char path[2 * PATH_MAX];
  int file = directory, rest = 0;
  if (count == NULL || given == NULL) return 0;
  if (*given == '\0') return file_fault(kind, directory);
  if (*given == '/' && sscanf(given, "/proc/self/fd/%d%n", &file, &rest) != 1) return fault(kind, given);
  /* stint removes trees through /proc/self/fd/N, so that a swapped link cannot lead it out. */
  long length = file == AT_FDCWD ? (getcwd(path, PATH_MAX) ? (long)strlen(path) : -1) : path_of_file(file, path);
  if (length <= 0) return 0;
  snprintf(path + length, PATH_MAX, "%s%s", *given == '/' ? "" : "/", given + rest);
  return fault(kind, path);
}

static const Kind *kind_of_open(int flags) { return flags & O_CREAT ? &Creates : &Opens; }

/* Defines a libc function that calls the real one unless `error` is an error number. */
#define INTERCEPT(type, name, parameters, arguments, failed, error)                                             \
  type name parameters {                                                                                        \
    static type(*next) parameters;                                                                              \
    if (next == NULL) next = NEXT(name);                                                                        \
    int number = error;                                                                                         \
    if (number == 0) return next arguments;                                                                     \
    errno = number;                                                                                             \
    return failed;                                                                                              \
  }

#define INTERCEPT_OPEN(name)                                                                                    \
  int name(const char *path, int flags, ...) {                                                                  \
    static int (*next)(const char *, int, ...);                                                                 \
    if (next == NULL) next = NEXT(name);                                                                        \
    va_list rest;                                                                                               \
    va_start(rest, flags);                                                                                      \
    int mode = va_arg(rest, int), number = path_fault(kind_of_open(flags), AT_FDCWD, path);                     \
    va_end(rest);                                                                                               \
    if (number == 0) return next(path, flags, mode);                                                            \
    errno = number;                                                                                             \
    return -1;                                                                                                  \
  }

INTERCEPT_OPEN(open)
INTERCEPT_OPEN(open64)
INTERCEPT(ssize_t, read, (int file, void *to, size_t n), (file, to, n), -1, file_fault(&Reads, file))
INTERCEPT(ssize_t, pread64, (int file, void *to, size_t n, off_t at), (file, to, n, at), -1, file_fault(&Reads, file))
INTERCEPT(ssize_t, write, (int file, const void *from, size_t n), (file, from, n), -1, file_fault(&Writes, file))
INTERCEPT(ssize_t, pwrite64, (int file, const void *from, size_t n, off_t at), (file, from, n, at), -1,
          file_fault(&Writes, file))
INTERCEPT(ssize_t, writev, (int file, const struct iovec *from, int n), (file, from, n), -1, file_fault(&Writes, file))
INTERCEPT(ssize_t, sendfile64, (int to, int from, off_t *at, size_t n), (to, from, at, n), -1, file_fault(&Writes, to))
INTERCEPT(int, fsync, (int file), (file), -1, file_fault(&Syncs, file))
INTERCEPT(int, fdatasync, (int file), (file), -1, file_fault(&Syncs, file))
INTERCEPT(int, ftruncate64, (int file, off_t length), (file, length), -1, file_fault(&Truncates, file))
INTERCEPT(int, fchmod, (int file, mode_t mode), (file, mode), -1, file_fault(&Chmods, file))
INTERCEPT(int, chmod, (const char *path, mode_t mode), (path, mode), -1, path_fault(&Chmods, AT_FDCWD, path))
INTERCEPT(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, path_fault(&Mkdirs, AT_FDCWD, path))
INTERCEPT(int, rename, (const char *from, const char *to), (from, to), -1, path_fault(&Renames, AT_FDCWD, to))
INTERCEPT(int, link, (const char *from, const char *to), (from, to), -1, path_fault(&Links, AT_FDCWD, to))
INTERCEPT(int, symlink, (const char *text, const char *path), (text, path), -1,
          path_fault(&Symlinks, AT_FDCWD, path))
INTERCEPT(ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n), -1,
          path_fault(&Readlinks, AT_FDCWD, path))
INTERCEPT(int, unlink, (const char *path), (path), -1, path_fault(&Removes, AT_FDCWD, path))
INTERCEPT(int, rmdir, (const char *path), (path), -1, path_fault(&Removes, AT_FDCWD, path))
INTERCEPT(int, access, (const char *path, int mode), (path, mode), -1, path_fault(&Stats, AT_FDCWD, path))
INTERCEPT(int, statfs64, (const char *path, struct statfs64 *to), (path, to), -1, path_fault(&Stats, AT_FDCWD, path))
INTERCEPT(int, statx, (int directory, const char *path, int flags, unsigned mask, struct statx *to),
          (directory, path, flags, mask, to), -1, path_fault(&Stats, directory, path))
INTERCEPT(char *, realpath, (const char *path, char *to), (path, to), NULL, path_fault(&Stats, AT_FDCWD, path))
INTERCEPT(DIR *, opendir, (const char *path), (path), NULL, path_fault(&Lists, AT_FDCWD, path))
INTERCEPT(int, scandir64,
          (const char *path, struct dirent64 ***names, int (*filter)(const struct dirent64 *),
           int (*compare)(const struct dirent64 **, const struct dirent64 **)),
          (path, names, filter, compare), -1, path_fault(&Lists, AT_FDCWD, path))
INTERCEPT(int, inotify_add_watch, (int file, const char *path, uint32_t mask), (file, path, mask), -1,
          path_fault(&Watches, AT_FDCWD, path))

/* libuv closes files and reads their status without a wrapper of libc's. */
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (next_syscall == NULL) next_syscall = NEXT(syscall);
  int error = 0;
  if (number == SYS_statx) error = path_fault(&Stats, (int)a, (const char *)b);
  if (number == SYS_close) error = file_fault(&Closes, (int)a);
  /* A file is closed even if close reports an error. */
  long result = error != 0 && number != SYS_close ? 0 : next_syscall(number, a, b, c, d, e, f);
  if (error == 0) return result;
  errno = error;
  return -1;
}
