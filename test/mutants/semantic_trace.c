/* SPDX-License-Identifier: MIT */
/*
 * Notes which blocks of the library a program enters: linked into what is compiled with
 * -fsanitize-coverage=trace-pc. The environment's SEMANTIC_TRACE names the file; byte n of it is
 * set when the block at offset n of the library, or of the program that holds the library, has been
 * entered, by any process.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (1 << 23)

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static char *entered;

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("SEMANTIC_TRACE");
	int file = name ? open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *memory;

	if (file < 0)
		return;
	if (!ftruncate(file, SIZE)) {
		memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		entered = memory == MAP_FAILED ? NULL : memory;
	}
	close(file);
}

void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void)
{
	const long at = (const char *)__builtin_return_address(0) - __ehdr_start;

	if (entered && at >= 0 && at < SIZE && !entered[at])
		entered[at] = 1;
}
