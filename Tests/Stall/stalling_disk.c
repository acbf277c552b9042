// Preloaded into a gateway under test (LD_PRELOAD): a disk that stalls.
//
// fsync and fdatasync of files below STALL_DIRECTORY wait while the test holds an exclusive lock on the file STALL_GATE. What
// waits says so on standard error. With STALL_WRITES=1 write(2) waits as well; SQLite doesn't use that, an audit log does.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int is_on_disk(int fd) {
    const char *directory = getenv("STALL_DIRECTORY");
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = directory ? readlink(link, path, sizeof path) : -1;
    return length > 0 && strncmp(path, directory, strlen(directory)) == 0;
}

static void stall(int fd) {
    const char *gate = getenv("STALL_GATE");
    if (!gate || !is_on_disk(fd)) return;
    int lock = open(gate, O_RDONLY | O_CLOEXEC);
    if (lock < 0) return;
    if (flock(lock, LOCK_SH | LOCK_NB) != 0) {
        dprintf(STDERR_FILENO, "stalling disk: a call waits\n");
        flock(lock, LOCK_SH);
    }
    close(lock);
}

int fsync(int fd) {
    stall(fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
    stall(fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    if (getenv("STALL_WRITES")) stall(fd);
    return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(fd, bytes, count);
}
