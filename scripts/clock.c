// The wall clock of one process, off by what a file says: preloaded into the gateway by scripts/soak to step it. The monotonic clock and
// everything that goes by it stay as they are.
//
// SOAK_CLOCK names the file: a sign and ten digits, seconds. It is mapped, so that a step is felt at once and costs no call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { digits = 10 };

static const volatile char *file;

static time_t offset(void) {
    if (!file) return 0;
    time_t seconds = 0;
    for (int place = 1; place <= digits; place++) seconds = seconds * 10 + (file[place] - '0');
    return file[0] == '-' ? -seconds : seconds;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("SOAK_CLOCK");
    int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, 1 + digits, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) file = mapped;
    close(descriptor);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    if (result == 0) now->tv_sec += offset();
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

// Deadlines of this clock, which the kernel compares with its own.
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    static int (*original)(sem_t *, const struct timespec *);
    if (!original) original = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec real = *deadline;
    real.tv_sec -= offset();
    return original(semaphore, &real);
}
