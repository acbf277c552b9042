/*
 * Counts what a process allocates: preloaded (LD_PRELOAD) by scripts/bench. The count is the first eight bytes of the file that
 * ALLOCATION_COUNT_PATH names, so that it can be read while the process works. glibc's own functions do the work.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t uncounted;
static _Atomic uint64_t *counter = &uncounted;

static void count(void)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

__attribute__((constructor)) static void open_counter(void)
{
	const char *path = getenv("ALLOCATION_COUNT_PATH");
	void *page;
	int file;

	if (!path)
		return;
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	if (!ftruncate(file, sizeof(*counter))) {
		page = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (page != MAP_FAILED)
			counter = page;
	}
	close(file);
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
