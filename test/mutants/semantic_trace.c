/* SPDX-License-Identifier: MIT */
/*
 * Notes which functions of the library a program enters: linked into a library that is compiled
 * with -finstrument-functions. The environment's SEMANTIC_TRACE names the file; byte n of it is set
 * when the function at offset n of the library has been entered, by any process.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (1 << 22)

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static char *entered;

__attribute__((constructor, no_instrument_function)) static void begin(void)
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

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *caller)
{
	const long at = (const char *)function - __ehdr_start;

	(void)caller;
	if (entered && at >= 0 && at < SIZE && !entered[at])
		entered[at] = 1;
}

__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
}
