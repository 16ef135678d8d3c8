// A layer between a process and its files, loaded with LD_PRELOAD.
//   AMBIT_SHIM_ROOT  the folder that it watches, as an absolute path without links
//   AMBIT_SHIM_LOG   the file to which every change below the root is written, in order; tests/support/shim.rs reads it
//   AMBIT_SHIM_FAIL  a file: while it says ENOSPC, EROFS or EIO, writes below the root fail with that error (EIO: syncs too)
//   AMBIT_SHIM_SYNC_US  how long each sync takes, in millionths of a second
// It sees calls of the C library: no raw system calls, no vectored writes, no copies made inside the kernel.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// One lock for all: the journal has the operations in the order in which they were done.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int below_root(const char *path) {
    const char *root = getenv("AMBIT_SHIM_ROOT");
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

// The name of an open file; false where it is outside the root or has no name any more.
static int name_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    const char *gone = " (deleted)";
    size_t tail = strlen(gone);
    if ((size_t)length > tail && !strcmp(path + length - tail, gone)) return 0;
    return below_root(path);
}

// The absolute name of a path whose last part need not exist.
static int resolve(const char *given, char *path) {
    char folder[PATH_MAX], last[PATH_MAX], real[PATH_MAX];
    if (snprintf(folder, sizeof folder, "%s", given) >= PATH_MAX) return 0;
    snprintf(last, sizeof last, "%s", given);
    if (!realpath(dirname(folder), real)) return 0;
    return snprintf(path, PATH_MAX, "%s/%s", real, basename(last)) < PATH_MAX && below_root(path);
}

// One record: kind, number, length and bytes of the name, length and bytes of the content; numbers little endian.
static void record(char kind, const char *path, uint64_t number, const void *bytes, uint64_t size) {
    const char *log = getenv("AMBIT_SHIM_LOG");
    if (!log) return;
    uint64_t length = strlen(path);
    size_t total = 1 + 3 * sizeof(uint64_t) + length + size;
    char *whole = malloc(total), *at = whole;
    if (!whole) abort();
    *at++ = kind;
    memcpy(at, &number, 8), at += 8;
    memcpy(at, &length, 8), at += 8;
    memcpy(at, path, length), at += length;
    memcpy(at, &size, 8), at += 8;
    if (size) memcpy(at, bytes, size);
    int fd = REAL(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    // A journal with a hole would prove nothing.
    if (fd < 0 || REAL(write)(fd, whole, total) != (ssize_t)total) abort();
    close(fd);
    free(whole);
}

// The error that the control file asks for, or 0.
static int failure(void) {
    const char *control = getenv("AMBIT_SHIM_FAIL");
    char text[8] = "";
    int fd = control ? REAL(open)(control, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, 6);
    close(fd);
    if (length >= 3 && !strncmp(text, "EIO", 3)) return EIO;
    if (length >= 5 && !strncmp(text, "EROFS", 5)) return EROFS;
    return length >= 6 && !strncmp(text, "ENOSPC", 6) ? ENOSPC : 0;
}

#define REFUSE(error) do { errno = (error); return -1; } while (0)

static int opened(int fd, int flags, int was_there) {
    char path[PATH_MAX];
    if (fd < 0 || !name_of(fd, path)) return fd;
    if ((flags & O_CREAT) && !was_there) record('C', path, 0, NULL, 0);
    else if (flags & O_TRUNC) record('T', path, 0, NULL, 0);
    return fd;
}

#define OPEN(name)                                                                                \
    int name(const char *given, int flags, ...) {                                                 \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode_t mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                                             \
        char path[PATH_MAX];                                                                      \
        int writes = (flags & O_ACCMODE) != O_RDONLY;                                             \
        if (!(writes || flags & (O_CREAT | O_TRUNC)) || !resolve(given, path)) return REAL(name)(given, flags, mode); \
        pthread_mutex_lock(&lock);                                                                \
        int was_there = !access(path, F_OK);                                                      \
        int error = failure();                                                                    \
        if (was_there && !(writes && error == EROFS)) error = 0;                                  \
        int fd = error ? -1 : opened(REAL(name)(given, flags, mode), flags, was_there);           \
        pthread_mutex_unlock(&lock);                                                              \
        if (error) REFUSE(error);                                                                 \
        return fd;                                                                                \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t size) {
    char path[PATH_MAX];
    if (!name_of(fd, path)) return REAL(write)(fd, bytes, size);
    int error = failure();
    if (error) REFUSE(error);
    pthread_mutex_lock(&lock);
    ssize_t done = REAL(write)(fd, bytes, size);
    if (done > 0) record('W', path, (uint64_t)(lseek(fd, 0, SEEK_CUR) - done), bytes, (uint64_t)done);
    pthread_mutex_unlock(&lock);
    return done;
}

#define PWRITE(name, offset_type)                                                                 \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type offset) {                    \
        char path[PATH_MAX];                                                                      \
        if (!name_of(fd, path)) return REAL(name)(fd, bytes, size, offset);                       \
        int error = failure();                                                                    \
        if (error) REFUSE(error);                                                                 \
        pthread_mutex_lock(&lock);                                                                \
        ssize_t done = REAL(name)(fd, bytes, size, offset);                                       \
        if (done > 0) record('W', path, (uint64_t)offset, bytes, (uint64_t)done);                 \
        pthread_mutex_unlock(&lock);                                                              \
        return done;                                                                              \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

// Takes as long as a sync shall take; the answer is no error.
static int slow(void) {
    const char *time = getenv("AMBIT_SHIM_SYNC_US");
    if (time) usleep((useconds_t)atoi(time));
    return 0;
}

#define ON_FILE(name, kind, number, refused, parameters, ...)                                     \
    int name parameters {                                                                         \
        char path[PATH_MAX];                                                                      \
        if (!name_of(fd, path)) return REAL(name)(__VA_ARGS__);                                   \
        int error = failure();                                                                    \
        if (refused) REFUSE(error);                                                               \
        pthread_mutex_lock(&lock);                                                                \
        int result = REAL(name)(__VA_ARGS__);                                                     \
        if (!result) record(kind, path, (uint64_t)(number), NULL, 0);                             \
        pthread_mutex_unlock(&lock);                                                              \
        return result;                                                                            \
    }
ON_FILE(ftruncate, 'T', length, error, (int fd, off_t length), fd, length)
ON_FILE(ftruncate64, 'T', length, error, (int fd, off64_t length), fd, length)
ON_FILE(fsync, 'S', 0, error == EIO || slow(), (int fd), fd)
ON_FILE(fdatasync, 'S', 0, error == EIO || slow(), (int fd), fd)

int rename(const char *from, const char *to) {
    char source[PATH_MAX], target[PATH_MAX];
    if (!resolve(from, source) || !resolve(to, target)) return REAL(rename)(from, to);
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (!result) record('R', source, 0, target, strlen(target));
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *given) {
    char path[PATH_MAX];
    if (!resolve(given, path)) return REAL(unlink)(given);
    pthread_mutex_lock(&lock);
    int result = REAL(unlink)(given);
    if (!result) record('U', path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
