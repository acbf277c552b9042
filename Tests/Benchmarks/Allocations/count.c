/*
 * Counts what a process allocates, and the system calls of its input and output: preloaded (LD_PRELOAD) by scripts/bench. Each count is the
 * first eight bytes of a file, which ALLOCATION_COUNT_PATH and SYSTEM_CALL_COUNT_PATH name, so that it can be read while the process works.
 * glibc's own functions do the work.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t uncounted;
static _Atomic uint64_t *allocations = &uncounted, *calls = &uncounted;

static void count(void)
{
	atomic_fetch_add_explicit(allocations, 1, memory_order_relaxed);
}

static void count_call(void)
{
	atomic_fetch_add_explicit(calls, 1, memory_order_relaxed);
}

static void open_counter(const char *variable, _Atomic uint64_t **counter)
{
	const char *path = getenv(variable);
	void *page;
	int file;

	if (!path)
		return;
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	if (!ftruncate(file, sizeof(**counter))) {
		page = mmap(NULL, sizeof(**counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (page != MAP_FAILED)
			*counter = page;
	}
	close(file);
}

__attribute__((constructor)) static void open_counters(void)
{
	open_counter("ALLOCATION_COUNT_PATH", &allocations);
	open_counter("SYSTEM_CALL_COUNT_PATH", &calls);
}

/* COUNTED(result, name, parameters, arguments): a function of glibc's that is one system call. */
#define COUNTED(result, name, parameters, arguments)                                                                                         \
	result name parameters                                                                                                               \
	{                                                                                                                                    \
		static result(*next) parameters;                                                                                             \
		if (!next)                                                                                                                   \
			next = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                                                \
		count_call();                                                                                                                \
		return next arguments;                                                                                                       \
	}

COUNTED(ssize_t, read, (int file, void *bytes, size_t size), (file, bytes, size))
COUNTED(ssize_t, write, (int file, const void *bytes, size_t size), (file, bytes, size))
COUNTED(ssize_t, readv, (int file, const struct iovec *parts, int number), (file, parts, number))
COUNTED(ssize_t, writev, (int file, const struct iovec *parts, int number), (file, parts, number))
COUNTED(ssize_t, recv, (int file, void *bytes, size_t size, int flags), (file, bytes, size, flags))
COUNTED(ssize_t, send, (int file, const void *bytes, size_t size, int flags), (file, bytes, size, flags))
COUNTED(ssize_t, recvmsg, (int file, struct msghdr *message, int flags), (file, message, flags))
COUNTED(ssize_t, sendmsg, (int file, const struct msghdr *message, int flags), (file, message, flags))
COUNTED(int, poll, (struct pollfd * files, nfds_t number, int milliseconds), (files, number, milliseconds))
COUNTED(int, epoll_wait, (int file, struct epoll_event *events, int most, int milliseconds), (file, events, most, milliseconds))
COUNTED(int, epoll_pwait, (int file, struct epoll_event *events, int most, int milliseconds, const sigset_t *signals),
	(file, events, most, milliseconds, signals))
COUNTED(int, epoll_ctl, (int file, int operation, int which, struct epoll_event *event), (file, operation, which, event))
COUNTED(int, getsockopt, (int file, int level, int name, void *value, socklen_t *size), (file, level, name, value, size))
COUNTED(int, setsockopt, (int file, int level, int name, const void *value, socklen_t size), (file, level, name, value, size))

int ioctl(int file, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	va_list arguments;
	void *value;

	if (!next)
		next = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	va_start(arguments, request);
	value = va_arg(arguments, void *);
	va_end(arguments);
	count_call();
	return next(file, request, value);
}

void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count();
	return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
	count();
	return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	void *block;

	count();
	if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment)
		return EINVAL;
	block = __libc_memalign(alignment, size);
	if (!block)
		return ENOMEM;
	*memory = block;
	return 0;
}
