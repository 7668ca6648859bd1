/* SPDX-License-Identifier: MIT */
/*
 * For the coverage build: what a process has counted is written at exit(), but tests also see to
 * it that assertions fail, and end the children that they fork by _exit(). The linker brings these
 * calls here (--wrap), so that what ran before them counts, too.
 */
#include <stdlib.h>

void __gcov_dump(void);
_Noreturn void __real_abort(void);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap_abort(void);
_Noreturn void __wrap__exit(int status);

void __wrap_abort(void)
{
	__gcov_dump();
	__real_abort();
}

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
